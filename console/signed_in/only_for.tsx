import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { Level } from '../../server/api/members/schema.ts';
import { LookOnlyContext } from '../form/context.ts';
import { organizations } from './organizations.ts';
import { level_names, level_plurals } from './member_words.ts';

/**
 * Returns the level of the signed-in person; undefined if it is unknown, so that the API decides.
 */
function useLevel(organization_id: string): { is_pending: boolean; own: Level | undefined } {
  const { data, isPending } = useQuery(organizations);
  const own = data?.results.find(({ id }) => id === organization_id)?.membership_level;
  return { is_pending: isPending, own };
}

/** Returns true if the signed-in person has an administrator's rights in the organization. */
export function useIsAdministrator(organization_id: string): boolean {
  const { own = 8 } = useLevel(organization_id);
  return own >= 8;
}

/** Returns true if the signed-in person has an owner's rights. */
export function useIsOwner(organization_id: string): boolean {
  const { own = 15 } = useLevel(organization_id);
  return own === 15;
}

/**
 * Shows content that needs a level in the organization, by default an administrator's. People below
 * the level read who can do it; with `shows`, the stored values follow, read-only.
 */
export function OnlyFor({
  organization_id,
  level = 8,
  shows = false,
  what = shows ? 'can change this' : 'can do this',
  children,
}: {
  organization_id: string;
  level?: Exclude<Level, 1>;
  shows?: boolean;
  /** The verb of the line with its object, such as "can create projects". */
  what?: string;
  children: ReactNode;
}) {
  const { is_pending, own = level } = useLevel(organization_id);
  if (is_pending) return null;
  if (own >= level) return children;
  return (
    <>
      <p className="muted">
        Only {level_plurals[level]} of the organization {what}. You are {level_names[own]}.
      </p>
      {shows && <LookOnlyContext value>{children}</LookOnlyContext>}
    </>
  );
}
