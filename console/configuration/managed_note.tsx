import type { ManagedRow } from '../../server/api/managed/schema.ts';
import { Instant } from '../time/instant.tsx';

/** Says that a configuration manages the object, and what happens to a change by hand. */
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
      , applied <Instant at={applied_at} />. A change by hand holds until it is applied again, which
      also creates anew what was deleted; its next plan tells of it.
    </p>
  );
}
