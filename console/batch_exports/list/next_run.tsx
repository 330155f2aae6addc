import type { ExportOverview } from '../../../server/api/batch_exports/overview/schema.ts';
import { Instant } from '../../time/instant.tsx';
import { useNow } from '../../time/now.ts';

/** Shows when the next run is planned; a due run is planned within seconds. */
export function NextRun({ row: { next_run } }: { row: Pick<ExportOverview, 'next_run'> }) {
  const now = useNow();
  if (next_run === null) return <span className="muted">none</span>;
  const { due_at } = next_run;
  return Date.parse(due_at) - now < 60_000 ? <>within a minute</> : <Instant at={due_at} />;
}
