import type {
  ExportOverview,
  HealthCode,
} from '../../../server/api/batch_exports/overview/schema.ts';
import { useInLabels } from '../../destinations/destinations.ts';
import { Sentence } from '../../page/text/sentence.tsx';
import { Instant, Since } from '../../time/instant.tsx';
import { StateMark } from '../state_mark.tsx';
import { behindWord, standings } from './standing.ts';

/** Shows a state of an export by its word, its shape and its colour. */
export function StateWord({ code }: { code: HealthCode }) {
  return <StateMark state={standings[code]} />;
}

/** Shows the state of an export in a list: its word, and since when or as of when. */
export function Health({ row: { health, delivered_until } }: { row: ExportOverview }) {
  const { code, since } = health;
  const is_fresh = code === 'up_to_date';
  const at = is_fresh ? delivered_until : code === 'waiting' ? null : since;
  return (
    <>
      <StateWord code={code} />
      {at !== null && (
        <span className="muted">
          {is_fresh ? ' as of ' : ' since '}
          {is_fresh ? <Instant at={at} /> : <Since at={at} />}
        </span>
      )}
    </>
  );
}

/** Shows the state of an export in the server's sentence. */
export function HealthSentence({ row: { health, destination_type } }: { row: ExportOverview }) {
  const inLabels = useInLabels(destination_type);
  return (
    <>
      <StateWord code={health.code} />
      <Sentence text={inLabels(behindWord(health))} is_short />
    </>
  );
}
