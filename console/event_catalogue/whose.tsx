import type { SchemaColumn } from '../../server/api/schema_columns/schema.ts';

/** Shows a property, and whose it is unless it is one of events. */
export function Whose({
  of: { source, property, group_types },
}: {
  of: Pick<SchemaColumn, 'source' | 'property' | 'group_types'>;
}) {
  return (
    <>
      <bdi>{property}</bdi>
      {source === 'person' && <span className="muted"> of persons</span>}
      {source === 'group' && (
        <span className="muted">
          {' of groups'}
          {group_types.length > 0 && <bdi>: {group_types.join(', ')}</bdi>}
        </span>
      )}
    </>
  );
}
