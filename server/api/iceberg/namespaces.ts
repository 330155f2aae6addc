import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { openLakePlace } from '../../engine/exports/lake_places/open_place.ts';
import { textListAt, textsAt } from '../../engine/model/lake_catalog/fields.ts';
import {
  checkedLevels,
  createNamespace,
  dropNamespace,
  findNamespace,
  holdNamespace,
  listNamespaces,
  noNamespace,
  setNamespaceProperties,
} from '../../engine/model/lake_catalog/namespaces.ts';
import type { Namespace } from '../../engine/model/lake_catalog/namespaces.ts';
import { LakeRefused, badRequest } from '../../engine/model/lake_catalog/refusal.ts';
import { changesOf } from '../../platform/activity/changes.ts';
import { requireLevel } from '../../platform/http/caller/guard.ts';
import { isUuid } from '../../platform/uuid.ts';
import { exactBody, levelsOf, pageOf, parentOf, tokenAfter } from './asked.ts';
import { answerOf, changeLake, no_content } from './change.ts';
import { lakeDoor, namespace_path, namespaces_path } from './door.ts';
import { folderName, locationBelow } from './locations.ts';
import { sendTableById } from './table_answer.ts';

/** The property with the export whose destination has the files of a namespace. */
const storage_property = 'sluice.batch-export';

/** Routes of namespaces. */
export function namespaceRoutes(app: FastifyInstance, deps: Deps): void {
  readRoutes(app, deps);
  const context = {
    deps,
    sendTable: (request: FastifyRequest, reply: FastifyReply, id: string) =>
      sendTableById(deps, request, reply, id),
  };
  app.post(namespaces_path, lakeDoor('lake:write', 200), async (request, reply) => {
    const sent = exactBody(request);
    const levels = checkedLevels(sent['namespace']);
    const properties = textsAt(sent['properties'] ?? {}, 'properties');
    refuseOwn(request, Object.keys(properties));
    const { location, batch_export_id } = await placeOf(deps, request, levels, properties);
    return changeLake(context, request, reply, async (tx, record) => {
      const { team_id } = request.access as { team_id: number };
      const { location: _location, ...own } = properties;
      const fields = { team_id, levels, properties: own, location, batch_export_id };
      const created = await createNamespace(tx, fields);
      record(entryOf('created', created));
      return answerOf({ namespace: levels, properties: shown(created) });
    });
  });

  app.delete(namespace_path, lakeDoor('lake:write', 204), (request, reply) =>
    changeLake(context, request, reply, async (tx, record) => {
      const { team_id } = request.access as { team_id: number };
      const held = await holdNamespace(tx, team_id, levelsOf(request));
      await dropNamespace(tx, team_id, held);
      record(entryOf('deleted', held));
      return no_content;
    }),
  );

  app.post(`${namespace_path}/properties`, lakeDoor('lake:write', 200), (request, reply) =>
    changeLake(context, request, reply, async (tx, record) => {
      const held = await holdNamespace(tx, request.access.team_id!, levelsOf(request));
      const { properties, ...answer } = changed(request, held.properties);
      await setNamespaceProperties(tx, held, properties);
      record({ ...entryOf('updated', held), changes: changesOf(held.properties, properties) });
      return answerOf(answer);
    }),
  );
}

function readRoutes(app: FastifyInstance, { db }: Deps): void {
  const get = async (request: FastifyRequest): Promise<Namespace> => {
    const levels = levelsOf(request);
    const found = await findNamespace(db, request.access.team_id!, levels);
    if (found === undefined) throw noNamespace(levels);
    return found;
  };
  app.head(namespace_path, lakeDoor('lake:read', 204), async (request, reply) => {
    await get(request);
    return reply.code(204).send();
  });
  app.get(namespace_path, lakeDoor('lake:read', 200), async (request) => {
    const found = await get(request);
    return { namespace: found.levels, properties: shown(found) };
  });
  app.get(namespaces_path, lakeDoor('lake:read', 200), async (request) => {
    const parent = parentOf(request);
    const { team_id } = request.access as { team_id: number };
    if (parent.length > 0 && (await findNamespace(db, team_id, parent)) === undefined)
      throw noNamespace(parent);
    const page = pageOf(request);
    const found = await listNamespaces(db, team_id, parent, page);
    const names = found.map(({ levels }) => levels.at(-1)!);
    return {
      namespaces: found.map(({ levels }) => levels),
      'next-page-token': tokenAfter(names, page),
    };
  });
}

const shown = ({ properties, location }: Namespace) => ({ ...properties, location });

/** Returns the place of a new namespace: the place of its parent, unless it names an export. */
async function placeOf(
  { db, engine }: Deps,
  request: FastifyRequest,
  levels: string[],
  properties: Record<string, string>,
): Promise<Pick<Namespace, 'location' | 'batch_export_id'>> {
  const { team_id } = request.access as { team_id: number };
  const own = properties[storage_property];
  if (own !== undefined && !isUuid(own))
    throw badRequest(`${storage_property} must be the id of an export of the project.`);
  const above =
    own === undefined ? await findNamespace(db, team_id, levels.slice(0, -1)) : undefined;
  const batch_export_id = own ?? above?.batch_export_id ?? null;
  const root = above?.location ?? (await openLakePlace(engine, db, team_id, batch_export_id)).root;
  const { location } = properties;
  return {
    location:
      location === undefined
        ? `${root}/${folderName(levels.at(-1)!)}`
        : locationBelow([root], location),
    batch_export_id,
  };
}

/** Returns the changed properties, and the answer to the client. Throws 400, 403 and 422. */
function changed(request: FastifyRequest, before: Record<string, string>) {
  const sent = exactBody(request);
  const removals = textListAt(sent['removals'] ?? [], 'removals');
  const updates = textsAt(sent['updates'] ?? {}, 'updates');
  const both = removals.find((name) => Object.hasOwn(updates, name));
  if (both !== undefined)
    throw new LakeRefused(
      'UnprocessableEntityException',
      `The property ${both} cannot be set and removed at once.`,
    );
  const names = [...removals, ...Object.keys(updates)];
  if (names.includes('location') || names.includes(storage_property))
    throw badRequest('The place of a namespace cannot change.');
  refuseOwn(request, names);
  const properties = { ...before, ...updates };
  for (const name of removals) delete properties[name];
  return {
    properties,
    updated: Object.keys(updates),
    removed: removals.filter((name) => Object.hasOwn(before, name)),
    missing: removals.filter((name) => !Object.hasOwn(before, name)),
  };
}

/** Throws 403 for one of Sluice's properties below level 8. */
function refuseOwn({ access }: FastifyRequest, names: readonly string[]): void {
  if (names.some((name) => name.startsWith('sluice.'))) requireLevel(access.level, 8);
}

const entryOf = (activity: string, { id, levels }: Namespace) => ({
  activity,
  scope: 'lake_namespace',
  item_id: id,
  item_name: levels.join('.'),
  changes: [],
});
