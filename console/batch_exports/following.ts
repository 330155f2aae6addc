import { useEffect, useRef } from 'react';
import { useExport } from './export_context.ts';

/** Calls `changed` whenever one of the latest runs of the export has got further. */
export function useRunsFollowed(changed: () => unknown): void {
  const { row } = useExport();
  const standing = row.latest_runs
    .map(({ id, last_updated_at }) => `${id} ${last_updated_at}`)
    .join(' ');
  const known = useRef(standing);
  useEffect(() => {
    if (known.current === standing) return;
    known.current = standing;
    changed();
  }, [standing, changed]);
}
