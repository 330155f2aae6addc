import type { ManagedRow } from '../../server/api/managed/schema.ts';
import { Instant } from '../time/instant.tsx';

/** Says that a configuration manages the object, and that the next apply undoes changes. */
export function ManagedNote({ by }: { by: ManagedRow }) {
  if (by === null) return undefined;
  const { key, source, commit, applied_at } = by;
  return (
    <p className="note" role="note">
      The configuration{' '}
      <code>
        <bdi>{source}</bdi>
      </code>{' '}
      manages this
      {key !== '' && (
        <>
          {' '}
          as <code>{key}</code>
        </>
      )}
      {commit !== null && (
        <>
          , at <bdi>{commit.slice(0, 12)}</bdi>
        </>
      )}
      , applied <Instant at={applied_at} />. The next apply undoes what you change here, and creates
      again what you delete. A plan shows both first.
    </p>
  );
}
