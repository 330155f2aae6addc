import { deleteMember, hasOtherOwner } from '../members/store.ts';
import type { Level } from '../members/schema.ts';
import { endSessions } from '../sessions/store.ts';
import type { Place } from './calling.ts';
import { ScimRefused } from './refusal.ts';
import { ownerByDirectory } from './told.ts';
import type { PersonRow } from './users/user_store.ts';
import { tellOwners } from '../organizations/store.ts';

/**
 * Removes a member because the directory says so. A person with an address in its domain is signed
 * out everywhere, so that they cannot return. Throws 403 for an owner whom it may not remove, and
 * 409 for the only owner, because nobody could appoint another.
 */
export async function takeOut(place: Place, person: PersonRow): Promise<void> {
  const { tx, directory } = place;
  const { user_id, is_in_domain } = person;
  await refuseOwner(place, person);
  await deleteMember(tx, directory.organization.id, user_id);
  if (is_in_domain) await endSessions(tx, user_id, null);
  if (person.level === 15) await tellOfOwner(place, person.email, false);
}

/** Tells all owners, and the person, what the directory did to an owner. */
export function tellOfOwner(
  { deps, tx, afterwards, directory: { domain, organization } }: Place,
  email: string,
  is_back: boolean,
): Promise<void> {
  const said = ownerByDirectory(domain, email, is_back);
  return tellOwners(deps, { tx, afterwards }, organization.id, said, [email]);
}

/**
 * Returns the level with which a person whom the directory deactivated returns: their former level.
 * A former owner becomes an owner only while the directory may manage owners; otherwise an
 * administrator.
 */
export function levelBack({ directory }: Place, person: PersonRow): Level {
  const { was_owner, deactivated_level } = person;
  return was_owner && directory.may_manage_owners ? 15 : (deactivated_level ?? 1);
}

async function refuseOwner({ tx, directory }: Place, person: PersonRow): Promise<void> {
  const { level, member_id, email } = person;
  if (level !== 15 || member_id === null) return;
  if (!directory.may_manage_owners)
    throw new ScimRefused(
      403,
      undefined,
      `${email} is an owner of the organization, whom this directory may not remove: ask an ` +
        'owner to do it, or allow the directory to manage owners on the page of the domain ' +
        '(with a token that an owner created there).',
    );
  if (await hasOtherOwner(tx, directory.organization.id, member_id)) return;
  throw new ScimRefused(
    409,
    undefined,
    `${email} is the only owner of the organization. Make another person an owner first.`,
  );
}
