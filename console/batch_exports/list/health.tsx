import type { ExportOverview } from '../../../server/api/batch_exports/overview/schema.ts';
import { Sentence } from '../../page/sentence.tsx';
import { Instant } from '../../time/instant.tsx';
import { standingOf } from './standing.ts';

/** Shows the health of an export: in a word, since when, and why. */
export function Health({ row }: { row: ExportOverview }) {
  const { word, tone, at, why } = standingOf(row);
  return (
    <>
      <span className={tone}>{word}</span>
      {at !== undefined && (
        <span className="muted">
          {at.before}
          <Instant at={at.instant} />
        </span>
      )}
      {why !== undefined && (
        <span className="export_why muted" title={why}>
          <Sentence text={why} />
        </span>
      )}
    </>
  );
}
