import { useEffect, useRef } from 'react';
import { useExport } from './export_context.ts';

/** Calls `changed` whenever the value is another one than before, but not at the beginning. */
export function useWhenChanged(value: unknown, changed: () => unknown): void {
  const known = useRef(value);
  useEffect(() => {
    if (known.current === value) return;
    known.current = value;
    changed();
  }, [value, changed]);
}

/** Calls `changed` whenever one of the latest runs of the export has got further. */
export function useRunsFollowed(changed: () => unknown): void {
  const { latest_runs } = useExport().row;
  const standing = latest_runs.map(({ id, last_updated_at }) => `${id} ${last_updated_at}`);
  useWhenChanged(standing.join(' '), changed);
}
