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
 * Makes of a person what the directory says, and gives them as they are then, with the entry of
 * the log; one without changes where they were so before. The caller holds the organization's lock.
 */
export async function changePerson(
  place: Place,
  before: PersonRow,
  sent: UserChange,
): Promise<{ after: PersonRow; entry: Entry }> {
  const { tx, directory } = place;
  // Whoever leaves is taken out, whatever else is sent: Entra renames the accounts that it closes.
  const named = sent.is_active === false ? {} : await changeAccount(place, before, sent);
  const known = 'external_id' in sent ? { external_id: sent.external_id ?? null } : {};
  await keepPerson(tx, directory, before.user_id, { ...known, ...named });
  if (sent.is_active === false && before.member_id !== null) await deactivate(place, before);
  if (sent.is_active === true) await activate(place, before);
  return settled(place, before);
}

/** The person behind a change, with the level of their groups, and what the log says of it. */
async function settled(place: Place, before: PersonRow) {
  const { tx, directory } = place;
  const is_joined = before.member_id === null;
  const now = await getPerson(place, before.uuid);
  const is_new = !before.is_in_hand || (is_joined && now.member_id !== null);
  // Others whose level was changed by hand keep it until their groups change.
  if (is_new) await settleLevels(tx, directory, false, before.user_id);
  const after = await getPerson(place, before.uuid);
  return { after, entry: entryOf(place, before, after) };
}

/** The person who was there before in the same transaction. */
export async function getPerson({ tx, directory }: Place, uuid: string): Promise<PersonRow> {
  const person = await findPerson(tx, directory, uuid);
  if (person === undefined) throw new Error('A person was gone while the organization was locked.');
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

/** Returns the extra changes of every entry about a directory's action. */
export function bySayOf({ domain }: { domain: string }) {
  return changesOf(undefined, { method: 'scim', domain });
}

/**
 * Names and address, which belong to the account: only where its address is one of the domain.
 * Gives what the directory calls the person.
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

/** Throws 409 where the directory calls somebody else by the name. */
export async function refuseNamesake(
  { tx, directory }: Place,
  user_name: string,
  user_id: number | null,
): Promise<void> {
  const other = await findNamesake(tx, directory, user_name, user_id);
  if (other === undefined) return;
  const detail = `The User ${other.uuid} is called ${user_name}: change that one instead.`;
  throw new ScimRefused(409, 'uniqueness', detail);
}

/**
 * Whoever reads the new mailbox can have a new password sent there. So a directory moves only
 * accounts that give nothing which it could not take and give itself.
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
    throw refused(`An invite waits for ${email}: have it taken back or accepted first.`);
  await updateUser(tx, person.user_id, { email });
  await endMailedLinks(tx, person.user_id);
  const message = movedMail(person.email, email, organization.name);
  await deps.outbox.post({ tx, afterwards }, [{ message }]);
}

/** 409: another account has the address. */
export function taken(email: string): ScimRefused {
  return new ScimRefused(
    409,
    'uniqueness',
    `Another account has the address ${email}: take it off that one first.`,
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
  // The address may have another owner by now, who is not to share the account with the one before.
  if (person.is_in_domain && !(await isElsewhere(tx, directory, user_id)))
    await handOver(tx, deps.secrets, actorOf(request, undefined), account);
  const level = levelBack(place, person);
  await insertMember(tx, directory.organization.id, user_id, level);
  if (level === 15) await tellOfOwner(place, email, true);
}

/** 409: the operator of the server has closed the account. */
export function inactiveAccount(email: string): ScimRefused {
  return new ScimRefused(
    409,
    undefined,
    `The operator of this server has deactivated the account ${email}: ask them to activate it.`,
  );
}
