import type { ExportOverview } from '../../../server/api/batch_exports/overview/schema.ts';
import { Instant } from '../../time/instant.tsx';
import { useNow } from '../../time/now.ts';

/** Shows when the next run is planned; what is due already is planned in seconds. */
export function NextRun({ row: { next_run } }: { row: Pick<ExportOverview, 'next_run'> }) {
  const now = useNow();
  if (next_run === null) return <span className="muted">none</span>;
  return Date.parse(next_run.due_at) <= now ? <>due now</> : <Instant at={next_run.due_at} />;
}
