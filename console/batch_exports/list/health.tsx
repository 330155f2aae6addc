import type {
  ExportOverview,
  HealthCode,
} from '../../../server/api/batch_exports/overview/schema.ts';
import { Sentence } from '../../page/sentence.tsx';
import { Instant } from '../../time/instant.tsx';
import { StateMark } from '../state_mark.tsx';
import { behindWord, standings } from './standing.ts';

/** Shows a state of an export by its word, its shape and its colour. */
export function StateWord({ code }: { code: HealthCode }) {
  return <StateMark state={standings[code]} />;
}

/** Shows the state of an export in a list: its word, and since when or as of when. */
export function Health({ row: { health, delivered_until } }: { row: ExportOverview }) {
  const { code, since } = health;
  const [before, at] = code === 'up_to_date' ? ['as of ', delivered_until] : ['since ', since];
  return (
    <>
      <StateWord code={code} />
      {at !== null && (
        <span className="muted">
          {' '}
          {before}
          <Instant at={at} />
        </span>
      )}
    </>
  );
}

/** Shows the state of an export in the sentence of the server. */
export function HealthSentence({ row: { health } }: { row: ExportOverview }) {
  return (
    <>
      <StateWord code={health.code} />
      <Sentence text={behindWord(health)} />
    </>
  );
}
