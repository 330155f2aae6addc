import { changesOf } from '../../../platform/activity/changes.ts';
import { actorOf } from '../../../platform/http/write.ts';
import type { Entry } from '../../../platform/http/write.ts';
import { insertMember } from '../../members/store.ts';
import { endMailedLinks, handOver } from '../../sessions/store.ts';
import { findIdentityById, findUserByEmail, updateUser } from '../../users/store.ts';
import type { Place } from '../calling.ts';
import { settleLevels } from '../levels.ts';
import { movedMail } from '../moved_mail.ts';
import { levelBack, takeOut, tellOfOwner } from '../owners.ts';
import { ScimRefused } from '../refusal.ts';
import { changedName, comparable } from './user_name.ts';
import { findNamesake, findPerson, isElsewhere, isInvited, keepPerson } from './user_store.ts';
import type { DirectoryNote, PersonRow } from './user_store.ts';
import type { UserChange } from './user_resource.ts';

/**
 * Applies the directory's values to a person; returns the person afterwards, with the activity
 * entry, which has no changes if nothing differs. The caller holds the organization's lock.
 */
export async function changePerson(
  place: Place,
  before: PersonRow,
  sent: UserChange,
): Promise<{ after: PersonRow; entry: Entry }> {
  const { tx, directory } = place;
  // A deactivation ignores the other fields, because Entra renames the accounts that it closes.
  const named = sent.is_active === false ? {} : await changeAccount(place, before, sent);
  const known = 'external_id' in sent ? { external_id: sent.external_id ?? null } : {};
  await keepPerson(tx, directory, before.user_id, { ...known, ...named });
  if (sent.is_active === false && before.member_id !== null) await deactivate(place, before);
  if (sent.is_active === true) await activate(place, before);
  return settled(place, before);
}

/**
 * Returns the person after a change, with the level of their groups and the lines of the activity
 * entry.
 */
async function settled(place: Place, before: PersonRow) {
  const { tx, directory } = place;
  const is_joined = before.member_id === null;
  const now = await getPerson(place, before.uuid);
  const is_new = !before.is_in_hand || (is_joined && now.member_id !== null);
  // Other people whose level was changed by hand keep it until their groups change.
  if (is_new) await settleLevels(tx, directory, false, before.user_id);
  const after = await getPerson(place, before.uuid);
  return { after, entry: entryOf(place, before, after) };
}

/** Returns a person who existed before in the same transaction. */
export async function getPerson({ tx, directory }: Place, uuid: string): Promise<PersonRow> {
  const person = await findPerson(tx, directory, uuid);
  if (person === undefined)
    throw new Error('A person disappeared while the organization was locked.');
  return person;
}

function factsOf(person: PersonRow) {
  const { email, user_name, first_name, last_name, external_id, level, member_id } = person;
  const is_active = member_id !== null;
  const { is_in_hand: is_provisioned } = person;
  const names = { email, user_name, first_name, last_name };
  return { ...names, external_id, level, is_active, is_provisioned };
}

function entryOf({ directory }: Place, before: PersonRow, after: PersonRow): Entry {
  const changes = changesOf(factsOf(before), factsOf(after));
  const is_of_account = changes.some(({ field }) => /^(email|first_name|last_name)$/.test(field));
  const [was, is] = [before.member_id !== null, after.member_id !== null];
  return {
    activity: was === is ? 'updated' : is ? 'reactivated' : 'deactivated',
    scope: 'member',
    item_id: after.uuid,
    item_name: after.email,
    changes: changes.length === 0 ? [] : [...changes, ...bySayOf(directory)],
    chain: { organization_id: directory.organization.id },
    ...(is_of_account ? { also: [{ user_uuid: after.uuid }] } : {}),
  };
}

/** Returns the extra lines of every entry about a directory's action. */
export function bySayOf({ domain }: { domain: string }) {
  return changesOf(undefined, { method: 'scim', domain });
}

/**
 * Changes name and address, which belong to the account, if its address is in the domain. Returns
 * the directory's name for the person.
 */
async function changeAccount(
  place: Place,
  before: PersonRow,
  sent: UserChange,
): Promise<DirectoryNote> {
  const { tx, directory } = place;
  const { first_name, last_name } = sent;
  const { email, user_name } = changedName(directory, before, sent);
  if (user_name !== null) await refuseNamesake(place, user_name, before.user_id);
  if (comparable(email) !== comparable(before.email)) await changeAddress(place, before, email);
  if (before.is_in_domain) {
    const names = Object.entries({ first_name, last_name }).filter(
      ([name, value]) => value !== undefined && value !== before[name as 'first_name'],
    );
    await updateUser(tx, before.user_id, Object.fromEntries(names));
  }
  return { user_name };
}

/** Throws 409 if the directory has another person with the name. */
export async function refuseNamesake(
  { tx, directory }: Place,
  user_name: string,
  user_id: number | null,
): Promise<void> {
  const other = await findNamesake(tx, directory, user_name, user_id);
  if (other === undefined) return;
  const detail = `The User ${other.uuid} has the name ${user_name}: change that one instead.`;
  throw new ScimRefused(409, 'uniqueness', detail);
}

/**
 * The reader of the new mailbox can request a new password. So a directory can only change the
 * address of accounts with no access beyond its own control.
 */
async function changeAddress(place: Place, person: PersonRow, email: string): Promise<void> {
  const { tx, deps, afterwards, directory } = place;
  const { domain, organization } = directory;
  const refused = (detail: string) => new ScimRefused(400, 'mutability', detail);
  const oneself = 'they have to change the address themselves, in their account.';
  if (!person.is_in_domain)
    throw refused(`${person.email} is no longer an address of ${domain}: ${oneself}`);
  if (person.level === 15) throw refused(`${person.email} is an owner: ${oneself}`);
  if (await isElsewhere(tx, directory, person.user_id))
    throw refused(`${person.email} belongs to other organizations as well: ${oneself}`);
  const other = await findUserByEmail(tx, email);
  if (other !== undefined && other.id !== person.user_id) throw taken(email);
  if (await isInvited(tx, email))
    throw refused(`An invite for ${email} is open: delete it, or let it be accepted first.`);
  await updateUser(tx, person.user_id, { email });
  await endMailedLinks(tx, person.user_id);
  const message = movedMail(person.email, email, organization.name);
  await deps.outbox.post({ tx, afterwards }, [{ message }]);
}

/** Returns the 409 for an address of another account. */
export function taken(email: string): ScimRefused {
  return new ScimRefused(
    409,
    'uniqueness',
    `Another account has the address ${email}: change that one first.`,
  );
}

async function deactivate(place: Place, person: PersonRow): Promise<void> {
  const { tx, directory } = place;
  await takeOut(place, person);
  const deactivated_level = person.level === 1 ? 1 : 8;
  const was_owner = person.level === 15;
  await keepPerson(tx, directory, person.user_id, { deactivated_level, was_owner });
}

async function activate(place: Place, person: PersonRow): Promise<void> {
  const { tx, directory, deps, request } = place;
  const { user_id, email, member_id } = person;
  const account = await findIdentityById(tx, user_id);
  if (account === undefined) throw inactiveAccount(email);
  await keepPerson(tx, directory, user_id, { deactivated_level: null });
  if (member_id !== null) return;
  // The address may have a new owner, who must not share the account with the former one.
  if (person.is_in_domain && !(await isElsewhere(tx, directory, user_id)))
    await handOver(tx, deps.secrets, actorOf(request, undefined), account);
  const level = levelBack(place, person);
  await insertMember(tx, directory.organization.id, user_id, level);
  if (level === 15) await tellOfOwner(place, email, true);
}

/** Returns the 409 for an account that the operator has deactivated. */
export function inactiveAccount(email: string): ScimRefused {
  return new ScimRefused(
    409,
    undefined,
    `The operator of this server has deactivated the account ${email}: ask them to activate it.`,
  );
}
