import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../../../deps.ts';
import { changesOf } from '../../../platform/activity/changes.ts';
import type { Fields } from '../../../platform/fields.ts';
import { actorOf } from '../../../platform/http/write.ts';
import { isDatabaseError } from '../../../platform/postgres/database.ts';
import { findVerifiedDomain } from '../../domains/store.ts';
import type { VerifiedDomain } from '../../domains/store.ts';
import { deleteInvite } from '../../invites/store.ts';
import { insertMember } from '../../members/store.ts';
import { handOver } from '../../sessions/store.ts';
import { getStanding } from '../../single_sign_on/store.ts';
import { findIdentityById, findUserByEmail, insertUser } from '../../users/store.ts';
import type { Identity } from '../../users/store.ts';
import { change } from '../calling.ts';
import type { Place } from '../calling.ts';
import { scimDoor } from '../door.ts';
import { settleLevels } from '../levels.ts';
import { listAnswer, readListQuery, shownOf } from '../list_query.ts';
import type { ListQuery, Listed } from '../list_query.ts';
import { takeOut } from '../owners.ts';
import { ScimRefused, scim_type, unknown } from '../refusal.ts';
import { objectBody, operationsOfPatch, operationsOfResource } from '../sent.ts';
import { bySayOf, changePerson, getPerson, inactiveAccount } from './user_changes.ts';
import { refuseNamesake, taken } from './user_changes.ts';
import { newName } from './user_name.ts';
import type { Known } from './user_name.ts';
import { readUserChange, readWholeUser, userResource } from './user_resource.ts';
import type { UserChange } from './user_resource.ts';
import {
  findPerson,
  forgetPerson,
  isElsewhere,
  keepPerson,
  listPeople,
  takeAddress,
} from './user_store.ts';
import type { PersonRow } from './user_store.ts';

const list = '/scim/v2/:domain_id/Users';
const one = `${list}/:id`;

/** Routes of the people whom a directory sees: list, create, retrieve, replace, change, delete. */
export function userRoutes(app: FastifyInstance, deps: Deps): void {
  app.get(list, scimDoor, async (request, reply) => {
    const query = request.query as Fields;
    const asked = readListQuery(query);
    const { total, resources } = await listedPeople(deps, request, query, asked);
    void reply.type(scim_type);
    return listAnswer(total, asked.start, resources);
  });
  app.get(one, scimDoor, async (request, reply) => {
    const id = idOf(request);
    const person = await findPerson(deps.db, request.directory, id);
    if (person === undefined) throw unknown('User', id);
    void reply.type(scim_type);
    return shown(deps, request, person);
  });
  app.post(list, scimDoor, (request, reply) => createPerson(deps, request, reply));
  app.put(one, scimDoor, (request, reply) =>
    changed(deps, request, reply, () => readWholeUser(operationsOfResource(objectBody(request)))),
  );
  app.patch(one, scimDoor, (request, reply) =>
    changed(deps, request, reply, () => readUserChange(operationsOfPatch(objectBody(request)))),
  );
  app.delete(one, scimDoor, (request, reply) =>
    change(deps, { request, reply }, 204, (place) => deletePerson(place)),
  );
}

/** Returns a page of the people whom the request's directory sees. */
export async function listedPeople(
  { db, config }: Deps,
  { directory }: FastifyRequest,
  query: Fields,
  asked: ListQuery,
): Promise<Listed> {
  const { total, people } = await listPeople(db, directory, asked);
  const resources = people.map((person) => shownOf(query, userResource(config, directory, person)));
  return { total, resources };
}

function idOf(request: FastifyRequest): string {
  return (request.params as { id: string }).id;
}

function shown({ config }: Deps, { directory, query }: FastifyRequest, person: PersonRow) {
  return shownOf(query, userResource(config, directory, person));
}

/**
 * Returns the person of the path, locked until the transaction ends; throws 404 if they do not
 * exist.
 */
async function getNamed({ tx, directory, request }: Place): Promise<PersonRow> {
  const id = idOf(request);
  const person = await findPerson(tx, directory, id, 'lock');
  if (person === undefined) throw unknown('User', id);
  return person;
}

async function changed(
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  read: () => UserChange,
) {
  const sent = read();
  void reply.type(scim_type);
  try {
    return await change(deps, { request, reply }, 200, async (place) => {
      const before = await getNamed(place);
      const { after, entry } = await changePerson(place, before, sent);
      place.record(entry, shown(deps, request, before));
      return shown(deps, request, after);
    });
  } catch (error) {
    // Another request took the address at the same time.
    if (isDatabaseError(error) && error.constraint === 'users_email_unique')
      throw taken(sent.user_name ?? sent.emails?.[0] ?? '');
    throw error;
  }
}

async function deletePerson(place: Place): Promise<undefined> {
  const { tx, directory, record } = place;
  const person = await getNamed(place);
  const { uuid, email, level, external_id } = person;
  if (person.member_id !== null) await takeOut(place, person);
  await forgetPerson(tx, directory, person.user_id);
  record({
    activity: 'removed',
    scope: 'member',
    item_id: uuid,
    item_name: email,
    changes: [...changesOf({ level, external_id }, undefined), ...bySayOf(directory)],
    chain: { organization_id: directory.organization.id },
  });
}

async function createPerson(deps: Deps, request: FastifyRequest, reply: FastifyReply) {
  const sent = readUserChange(operationsOfResource(objectBody(request)));
  const known = newName(request.directory, sent);
  void reply.type(scim_type);
  const attempt = () =>
    change(deps, { request, reply }, 201, async (place) => {
      const person = await provision(place, known, sent);
      const resource = userResource(deps.config, place.directory, person);
      void reply.header('location', resource.meta.location);
      return shownOf(request.query, resource);
    });
  try {
    return await attempt();
  } catch (error) {
    if (!isDatabaseError(error) || error.constraint !== 'users_email_unique') throw error;
    // Another request created an account with this address at the same time, so it exists now.
    return attempt();
  }
}

/**
 * Creates the person, or starts managing a member whom the directory could not find by its own
 * name; throws 409 for every other existing person.
 */
async function provision(place: Place, known: Known, sent: UserChange): Promise<PersonRow> {
  const { tx, directory, record } = place;
  const account = await findUserByEmail(tx, known.email);
  const seen =
    account === undefined ? undefined : await findPerson(tx, directory, account.uuid, 'lock');
  if (seen === undefined) {
    if (known.user_name !== null) await refuseNamesake(place, known.user_name, null);
    return create(place, known, sent);
  }
  if (known.user_name === null || seen.is_in_hand) throw alreadyThere(seen);
  const { after, entry } = await changePerson(place, seen, sent);
  record(entry);
  return after;
}

/**
 * Creates the account if there is none, and makes it a member unless it is sent as deactivated.
 * Sends no mails about joining: after the first synchronization of a company, everybody would get
 * one for each person.
 */
async function create(
  place: Place,
  { email, user_name }: Known,
  sent: UserChange,
): Promise<PersonRow> {
  const { tx, deps, directory, record } = place;
  const { is_active = true, external_id = null } = sent;
  const { user_id, uuid, is_new } = await findAccount(place, email, sent);
  const standing = await getStanding(
    tx,
    { organization_id: directory.organization.id, user_id, email },
    deps.clock.now(),
  );
  // An owner's invite makes the person who accepts it an owner; here nobody has accepted it.
  const level = standing.invite_level === 15 ? 8 : (standing.invite_level ?? 1);
  const deactivated_level = is_active ? null : 1;
  await keepPerson(tx, directory, user_id, { external_id, user_name, deactivated_level });
  await takeAddress(tx, directory, email);
  if (is_active) {
    await insertMember(tx, directory.organization.id, user_id, level);
    if (standing.invite_id !== null) await deleteInvite(tx, standing.invite_id);
  }
  await settleLevels(tx, directory, false, user_id);
  const person = await getPerson(place, uuid);
  const invite_id = is_active ? standing.invite_id : null;
  const facts = { level: person.level, invite_id, external_id, has_new_account: is_new };
  record({
    activity: is_active ? 'joined' : 'deactivated',
    scope: 'member',
    item_id: person.uuid,
    item_name: person.email,
    changes: [...changesOf(undefined, facts), ...bySayOf(directory)],
    chain: { organization_id: directory.organization.id },
  });
  return person;
}

/**
 * Finds the account with the address, or creates one; the domain's proof verifies the address. An
 * earlier user of the address may still know the account's password. So an account without other
 * organizations is given to the person without its former ways to sign in. With other
 * organizations, its ways to sign in stay, unless the domain forbids them.
 */
async function findAccount(place: Place, email: string, sent: UserChange) {
  const { tx, directory, deps, request } = place;
  const { first_name = '', last_name = '' } = sent;
  const known = await findUserByEmail(tx, email);
  if (known === undefined) {
    const proven = { email, is_email_verified: true, password_hash: null, first_name, last_name };
    const { id, uuid } = await insertUser(tx, proven);
    return { user_id: id, uuid, is_new: true };
  }
  const account = await findIdentityById(tx, known.id, 'lock');
  // While this waited for its lock, the account may have got another address.
  if (account === undefined || account.email !== known.email) throw inactiveAccount(email);
  const domain = await findVerifiedDomain(tx, deps.config, email);
  const { is_email_verified } = account;
  if (!(await isElsewhere(tx, directory, account.id)) || isOnlyWay(domain, account))
    await handOver(tx, deps.secrets, actorOf(request, undefined), account);
  else if (!is_email_verified)
    throw new ScimRefused(
      409,
      'uniqueness',
      `The address of the account ${email} was never verified, so the account may belong to ` +
        'another person. Ask the person to choose a new password with “Forgot your password?”, ' +
        'which verifies the address and ends all other sessions. Then provision them again.',
    );
  // A person's name from elsewhere stays until the directory changes it.
  return { user_id: account.id, uuid: account.uuid, is_new: false };
}

/**
 * Returns true if nobody can verify the address, because the domain allows no password. The second
 * factor stays in any case, because it protects the account's access elsewhere.
 */
function isOnlyWay(
  domain: VerifiedDomain | undefined,
  { is_email_verified, has_second_factor }: Identity,
): boolean {
  const is_enforced = domain !== undefined && domain.sso_enforcement !== '';
  return is_enforced && !is_email_verified && !has_second_factor;
}

function alreadyThere({ email, uuid, member_id }: PersonRow): ScimRefused {
  const detail =
    member_id === null
      ? `${email} exists and is deactivated. Set active to true for the User ${uuid} instead.`
      : `${email} exists already, as the User ${uuid}. Change that one instead.`;
  return new ScimRefused(409, 'uniqueness', detail);
}
