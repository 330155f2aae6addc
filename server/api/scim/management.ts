import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { changesOf } from '../../platform/activity/changes.ts';
import { personOf, uuidParameter } from '../../platform/http/caller/access.ts';
import { body } from '../../platform/http/bodies/body.ts';
import { missing } from '../../platform/http/errors.ts';
import { ifMatch } from '../../platform/http/etag.ts';
import { actorOf, write } from '../../platform/http/write.ts';
import type { Entry } from '../../platform/http/write.ts';
import { addWrite } from '../../platform/http/records.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { tellOwners } from '../organizations/store.ts';
import { settleAndTell } from './levels.ts';
import { changing, directoryOf, directory_url, placeOf, reading } from './managed.ts';
import { Directory, DirectoryPatch, DirectoryPut, Group, GroupPatch, GroupPut } from './schema.ts';
import type { DirectoryRow, GroupRow } from './schema.ts';
import { deleteDirectory, findGroupRow, setGroupLevel, setMayManageOwners } from './store.ts';
import type { DomainPlace } from './store.ts';
import { directoryOff, groupLevel, ownersManaged } from './told.ts';
import { tokenRoutes } from './tokens/routes.ts';

const group_url = `${directory_url}groups/:group_id/`;

/** Routes by which people manage the directory of a domain: `.../domains/:id/scim/`. */
export function managementRoutes(app: FastifyInstance, deps: Deps): void {
  directoryRoutes(app, deps);
  tokenRoutes(app, deps);
  groupRoutes(app, deps);
}

function directoryRoutes(app: FastifyInstance, deps: Deps): void {
  const response = { 200: Directory };
  app.get(
    directory_url,
    {
      config: reading,
      schema: {
        summary: "Retrieve the state of a domain's directory (SCIM)",
        operationId: 'organizations_domains_scim_retrieve',
        response,
      },
    },
    async (request) => directoryOf(deps, deps.db, await placeOf(deps.db, request)),
  );
  const summary = 'Set whether the directory of a domain manages owners';
  const description =
    'Without `may_manage_owners`, it cannot deactivate or delete owners, or activate a ' +
    'person as an owner. 404 while it is off.';
  app.patch(
    directory_url,
    { config: changing, schema: { summary, description, body: DirectoryPatch, response } },
    changeDirectory(deps, DirectoryPatch),
  );
  app.put(
    directory_url,
    { config: changing, schema: { summary, description, body: DirectoryPut, response } },
    changeDirectory(deps, DirectoryPut),
  );
  addWrite(app, {
    method: 'DELETE',
    url: directory_url,
    config: changing,
    summary: 'Switch the directory of a domain off',
    description:
      'Deletes its tokens, its groups and its records of people. Memberships and levels stay.',
    response: { 204: { type: 'null' } },
    work: async ({ request, tx, record, afterwards }) => {
      const place = await placeOf(tx, request, 'lock');
      const before = await directoryOf(deps, tx, place);
      ifMatch(request, before);
      if (!(await deleteDirectory(tx, place.domain_id))) missing();
      record(entryOf('deleted', place, before, undefined));
      const said = directoryOff(place.domain, personOf(request).email);
      await tellOwners(deps, { tx, afterwards }, place.organization.id, said);
    },
  });
}

function changeDirectory(deps: Deps, schema: typeof DirectoryPatch | typeof DirectoryPut) {
  return (request: FastifyRequest, reply: FastifyReply) =>
    write(request, reply, 200, async (tx, record, afterwards) => {
      const place = await placeOf(tx, request, 'lock');
      const before = await directoryOf(deps, tx, place);
      if (!before.is_on) missing();
      ifMatch(request, before);
      const { may_manage_owners = before.may_manage_owners } = body(request, schema);
      await setMayManageOwners(tx, place.domain_id, may_manage_owners);
      const after = await directoryOf(deps, tx, place);
      record(entryOf('updated', place, before, after), before);
      // If the directory is unchanged, all of this is rolled back, including the mails.
      const said = ownersManaged(place.domain, may_manage_owners, personOf(request).email);
      await tellOwners(deps, { tx, afterwards }, place.organization.id, said);
      return after;
    });
}

function groupRoutes(app: FastifyInstance, deps: Deps): void {
  app.get(
    group_url,
    {
      config: reading,
      schema: { summary: 'Retrieve a group of a directory', response: { 200: Group } },
    },
    async (request) => groupOf(deps.db, request, await placeOf(deps.db, request)),
  );
  const description =
    'If a group of the directory has a level, people of the directory get the highest level of ' +
    'their groups, or 1. Owners do not change. If you remove the last level, levels stay ' +
    'unchanged.';
  const summary = 'Set the level of the people of a group';
  const response = { 200: Group };
  app.patch(
    group_url,
    { config: changing, schema: { summary, description, body: GroupPatch, response } },
    changeGroup(deps, GroupPatch),
  );
  app.put(
    group_url,
    { config: changing, schema: { summary, description, body: GroupPut, response } },
    changeGroup(deps, GroupPut),
  );
}

function changeGroup(deps: Deps, schema: typeof GroupPatch | typeof GroupPut) {
  return (request: FastifyRequest, reply: FastifyReply) =>
    write(request, reply, 200, async (tx, record, afterwards) => {
      const place = await placeOf(tx, request, 'lock');
      const before = await groupOf(tx, request, place, 'lock');
      ifMatch(request, before);
      const { level = before.level } = body(request, schema);
      await setGroupLevel(tx, before.id, level);
      const after = await groupOf(tx, request, place);
      const changes = changesOf(before, after);
      // Removing the last level changes nobody's level, so the people are checked before.
      const changed =
        changes.length === 0
          ? []
          : await settleAndTell(tx, deps.secrets, place, actorOf(request, undefined), false);
      const by = personOf(request).email;
      const said = groupLevel(place.domain, after, level, { by, changed: changed.length });
      await tellOwners(deps, { tx, afterwards }, place.organization.id, said, changed);
      const { id: item_id, display_name: item_name } = after;
      record({ activity: 'updated', scope: 'scim_group', item_id, item_name, changes }, before);
      return after;
    });
}

async function groupOf(
  db: Queryable,
  request: FastifyRequest,
  { domain_id }: DomainPlace,
  lock?: 'lock',
): Promise<GroupRow> {
  return (await findGroupRow(db, domain_id, uuidParameter(request, 'group_id'), lock)) ?? missing();
}

function entryOf(
  activity: string,
  { domain_id, domain }: DomainPlace,
  before: DirectoryRow,
  after: DirectoryRow | undefined,
): Entry {
  const said = (row: DirectoryRow | undefined) =>
    row === undefined ? undefined : { may_manage_owners: row.may_manage_owners };
  const changes = changesOf(said(before), said(after));
  return { activity, scope: 'scim', item_id: domain_id, item_name: domain, changes };
}
