import { useEffect, useRef } from 'react';
import { useExport } from './export_context.ts';

/** Calls `changed` when the value differs from the one before, but not at the first render. */
export function useWhenChanged(value: unknown, changed: () => unknown): void {
  const known = useRef(value);
  useEffect(() => {
    if (known.current === value) return;
    known.current = value;
    changed();
  }, [value, changed]);
}

/** Calls `changed` when one of the export's latest runs has progressed. */
export function useRunsFollowed(changed: () => unknown): void {
  const { latest_runs } = useExport().row;
  const standing = latest_runs.map(({ id, last_updated_at }) => `${id} ${last_updated_at}`);
  useWhenChanged(standing.join(' '), changed);
}
