import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Deps } from '../../../deps.ts';
import { changesOf } from '../../../platform/activity/changes.ts';
import type { Change } from '../../../platform/activity/changes.ts';
import type { Fields } from '../../../platform/fields.ts';
import { actorOf } from '../../../platform/http/write.ts';
import type { Entry } from '../../../platform/http/write.ts';
import { baseUrl, change } from '../calling.ts';
import type { Place } from '../calling.ts';
import { scimDoor } from '../door.ts';
import { readGroupChange, refuseTooMany } from './group_change.ts';
import type { GroupChange } from './group_change.ts';
import { addMembers, countGroups, deleteGroup, findGroup, insertGroup } from './group_store.ts';
import { listGroups, listStrangers, removeMembers, updateGroup } from './group_store.ts';
import type { DirectoryGroup } from './group_store.ts';
import { hasLevels, settleAndTell } from '../levels.ts';
import { isLeftOut, listAnswer, readListQuery, shownOf } from '../list_query.ts';
import type { ListQuery, Listed } from '../list_query.ts';
import { ScimRefused, invalidValue, scim_type, unknown } from '../refusal.ts';
import { objectBody, operationsOfPatch, operationsOfResource } from '../sent.ts';
import { bySayOf } from '../users/user_changes.ts';

/** The schema of groups (RFC 7643, 4.2). */
export const group_schema = 'urn:ietf:params:scim:schemas:core:2.0:Group';

const list = '/scim/v2/:domain_id/Groups';
const one = `${list}/:id`;

/** Routes of a directory's groups: list, create, retrieve, replace, change, delete. */
export function groupRoutes(app: FastifyInstance, deps: Deps): void {
  readRoutes(app, deps);
  app.post(list, scimDoor, async (request, reply) => {
    const sent = readGroupChange(operationsOfResource(objectBody(request)));
    void reply.type(scim_type);
    return change(deps, { request, reply }, 201, async (place) => {
      const group = await create(place, sent);
      const resource = resourceOf(deps, request, group);
      void reply.header('location', resource.meta.location);
      return shownOf(request.query, resource);
    });
  });
  app.put(one, scimDoor, async (request, reply) => {
    const sent = readGroupChange(operationsOfResource(objectBody(request)));
    void reply.type(scim_type);
    return change(deps, { request, reply }, 200, async (place) => {
      await changeGroup(place, sent);
      return shown(deps, request, await getNamed(place, !isLeftOut(request.query, 'members')));
    });
  });
  // No body: Entra does not need one, and a group may have ten thousand members.
  app.patch(one, scimDoor, async (request, reply) => {
    const sent = readGroupChange(operationsOfPatch(objectBody(request)));
    return change(deps, { request, reply }, 204, (place) => changeGroup(place, sent));
  });
  app.delete(one, scimDoor, (request, reply) =>
    change(deps, { request, reply }, 204, async (place) => {
      const { tx, directory, record } = place;
      const group = await getNamed(place, false);
      const had_levels = await hasLevels(tx, directory.domain_id);
      await deleteGroup(tx, group.id);
      await settle(place, had_levels);
      record(entryOf(place, 'deleted', group, changesOf(factsOf(group), undefined)));
    }),
  );
}

function readRoutes(app: FastifyInstance, deps: Deps): void {
  app.get(list, scimDoor, async (request, reply) => {
    const query = request.query as Fields;
    const asked = readListQuery(query);
    const { total, resources } = await listedGroups(deps, request, query, asked);
    void reply.type(scim_type);
    return listAnswer(total, asked.start, resources);
  });
  app.get(one, scimDoor, async (request, reply) => {
    const id = idOf(request);
    const has_members = !isLeftOut(request.query, 'members');
    const group = await findGroup(deps.db, request.directory, id, has_members);
    if (group === undefined) throw unknown('Group', id);
    void reply.type(scim_type);
    return shown(deps, request, group);
  });
}

/** Returns a page of the groups of the request's directory. */
export async function listedGroups(
  deps: Deps,
  request: FastifyRequest,
  query: Fields,
  asked: ListQuery,
): Promise<Listed> {
  const has_members = !isLeftOut(query, 'members');
  const { total, groups } = await listGroups(deps.db, request.directory, asked, has_members);
  return { total, resources: groups.map((one) => shownOf(query, resourceOf(deps, request, one))) };
}

function idOf(request: FastifyRequest): string {
  return (request.params as { id: string }).id;
}

async function getNamed(place: Place, has_members: boolean, id = idOf(place.request)) {
  const group = await findGroup(place.tx, place.directory, id, has_members);
  if (group === undefined) throw unknown('Group', id);
  return group;
}

async function create(place: Place, sent: GroupChange): Promise<DirectoryGroup> {
  const { tx, directory, record, request } = place;
  const { display_name, external_id = null } = sent;
  if (display_name === undefined) throw invalidValue('displayName is missing.');
  const id = await insertGroup(tx, directory, { display_name, external_id });
  if (id === undefined) throw nameTaken(display_name);
  const members = await changeMembers(place, id, sent);
  refuseTooMany(await countGroups(tx, directory));
  await settle(place, false);
  const group = await getNamed(place, !isLeftOut(request.query, 'members'), id);
  const changes = [...changesOf(undefined, factsOf(group)), ...members];
  record(entryOf(place, 'created', group, changes));
  return group;
}

async function changeGroup(place: Place, sent: GroupChange): Promise<undefined> {
  const { tx, directory, record } = place;
  const before = await getNamed(place, false);
  const { display_name = before.display_name, external_id = before.external_id } = sent;
  const facts = { display_name, external_id };
  if (!(await updateGroup(tx, directory, before.id, facts))) throw nameTaken(display_name);
  const members = await changeMembers(place, before.id, sent);
  if (members.length > 0) {
    refuseTooMany(await countGroups(tx, directory));
    await settle(place, false);
  }
  record(entryOf(place, 'updated', before, [...changesOf(factsOf(before), facts), ...members]));
}

/** Throws 400 for ids of people whom the directory does not see. */
async function changeMembers(place: Place, id: string, sent: GroupChange): Promise<Change[]> {
  const { tx, directory } = place;
  const [added, removed] = [[...sent.added], [...sent.removed]];
  const strangers = await listStrangers(tx, directory, added);
  if (strangers.length > 0)
    throw invalidValue(
      `The directory has no User with the id ${strangers.join(', ')}: provision the person first.`,
    );
  const gone = await removeMembers(tx, id, sent.is_whole ? { all_but: added } : { named: removed });
  const come = await addMembers(tx, directory, id, added);
  return changesOf(undefined, {
    ...(come.length === 0 ? {} : { members_added: come }),
    ...(gone.length === 0 ? {} : { members_removed: gone }),
  });
}

async function settle({ tx, deps, directory, request }: Place, had_levels: boolean): Promise<void> {
  await settleAndTell(tx, deps.secrets, directory, actorOf(request, undefined), had_levels);
}

function factsOf({
  display_name,
  external_id,
}: Pick<DirectoryGroup, 'display_name' | 'external_id'>) {
  return { display_name, external_id };
}

function entryOf(
  { directory }: Place,
  activity: string,
  { id, display_name }: DirectoryGroup,
  changes: Change[],
): Entry {
  return {
    activity,
    scope: 'scim_group',
    item_id: id,
    item_name: display_name,
    changes: changes.length === 0 ? [] : [...changes, ...bySayOf(directory)],
    chain: { organization_id: directory.organization.id },
  };
}

function nameTaken(display_name: string): ScimRefused {
  return new ScimRefused(
    409,
    'uniqueness',
    `The directory already has a group ${display_name}: change that one, or choose another name.`,
  );
}

function resourceOf({ config }: Deps, { directory }: FastifyRequest, group: DirectoryGroup) {
  const { id, display_name, external_id, members, created_at, updated_at } = group;
  const base_url = baseUrl(config, directory.domain_id);
  return {
    schemas: [group_schema],
    id,
    ...(external_id === null ? {} : { externalId: external_id }),
    displayName: display_name,
    members: members.map((member) => ({ ...member, $ref: `${base_url}/Users/${member.value}` })),
    meta: {
      resourceType: 'Group',
      created: created_at,
      lastModified: updated_at,
      location: `${base_url}/Groups/${id}`,
    },
  };
}

function shown(deps: Deps, request: FastifyRequest, group: DirectoryGroup) {
  return shownOf(request.query, resourceOf(deps, request, group));
}
