import type { ExportOverview } from '../../../server/api/batch_exports/overview/schema.ts';
import { Since } from '../../time/instant.tsx';
import { visibleAfter } from '../visible_after.ts';

/** Shows until when everything is delivered, and how old rows are when readers can see them. */
export function Freshness({ row }: { row: ExportOverview }) {
  const after = visibleAfter(row);
  return (
    <>
      {row.delivered_through !== null && (
        <span className="muted">
          delivered through <Since at={row.delivered_through} is_precise />
        </span>
      )}
      {after !== undefined && <span className="muted">rows are visible {after}</span>}
    </>
  );
}
