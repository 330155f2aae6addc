import IconFileCode from 'icon:file-code';
import type { ManagedRow } from '../../server/api/managed/schema.ts';

/** Marks an object in a list as managed by a configuration; its own page has the details. */
export function ManagedMark({ by }: { by: ManagedRow }) {
  if (by === null) return undefined;
  const told = `Managed by the configuration ${by.source}`;
  return (
    <span role="img" aria-label={told} title={told} className="managed">
      <IconFileCode size={14} stroke={1.6} aria-hidden />
    </span>
  );
}
