import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { openLakePlace } from '../../engine/exports/lake_places/open_place.ts';
import { commitTable, createByCommit } from '../../engine/model/lake_catalog/commit.ts';
import type { Commit } from '../../engine/model/lake_catalog/commit.ts';
import { listOf, objectAt, objectOf, textOf } from '../../engine/model/lake_catalog/fields.ts';
import {
  checkedLevels,
  checkedName,
  holdNamespace,
} from '../../engine/model/lake_catalog/namespaces.ts';
import { LakeRefused, badRequest } from '../../engine/model/lake_catalog/refusal.ts';
import { asksToCreate } from '../../engine/model/lake_catalog/requirements.ts';
import {
  foreign_commits,
  holdTable,
  noTable,
  renameTable,
} from '../../engine/model/lake_catalog/tables.ts';
import type { LakeTable, TableName } from '../../engine/model/lake_catalog/tables.ts';
import type { Fields } from '../../platform/fields.ts';
import { isFields } from '../../platform/fields.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { exactBody, tableOf } from './asked.ts';
import { changeLake, no_content } from './change.ts';
import { base, lakeDoor, table_path } from './door.ts';
import { entryOf } from './entry.ts';
import { locationBelow, tableLocation } from './locations.ts';
import { sendTableById } from './table_answer.ts';

/** Routes by which clients commit to tables, and rename them. */
export function commitRoutes(app: FastifyInstance, deps: Deps): void {
  const context = {
    deps,
    sendTable: (request: FastifyRequest, reply: FastifyReply, id: string) =>
      sendTableById(deps, request, reply, id),
  };
  app.post(table_path, lakeDoor('lake:write', 200), (request, reply) => {
    const sent = exactBody(request);
    const name = tableOf(request);
    return changeLake(context, request, reply, async (tx, record) => {
      const { table, is_new } = await commitOne(deps, tx, request, name, sent);
      record(is_new ? entryOf('created', table) : 'nothing');
      return { status: 200, answer: null, table_id: table.id };
    });
  });

  app.post(`${base}/transactions/commit`, lakeDoor('lake:write', 204), (request, reply) => {
    const changes = changesOf(exactBody(request));
    return changeLake(context, request, reply, async (tx, record) => {
      for (const { name, sent } of changes) {
        if (asksToCreate(listOf(sent, 'requirements')))
          throw badRequest('A transaction over several tables cannot create a table.');
        await commitOne(deps, tx, request, name, sent);
      }
      record('nothing');
      return no_content;
    });
  });

  app.post(`${base}/tables/rename`, lakeDoor('lake:write', 204), (request, reply) => {
    const sent = exactBody(request);
    const [from, to] = [nameAt(sent, 'source'), nameAt(sent, 'destination')];
    return changeLake(context, request, reply, async (tx, record) => {
      const { team_id } = request.access as { team_id: number };
      const held = await holdTable(tx, team_id, from);
      if (held === undefined) throw noTable(from);
      requireCommits(held);
      const namespace = await holdNamespace(tx, team_id, to.levels);
      // The export of its namespace has the keys of its files.
      if (namespace.batch_export_id !== held.storage_id)
        throw badRequest('The namespaces have their files in different places.');
      await renameTable(tx, held, namespace, to.name);
      record(entryOf('updated', { ...held, ...to }));
      return no_content;
    });
  });
}

/** Throws 403 if clients may not commit to the table. */
export function requireCommits({ takes_commits, levels, name }: LakeTable): void {
  if (takes_commits) return;
  throw new LakeRefused(
    'ForbiddenException',
    `An export writes ${[...levels, name].join('.')}, so clients can only read it. An ` +
      `administrator can let them commit: set the property ${foreign_commits} of its namespace ` +
      'to true.',
  );
}

async function commitOne(
  { engine, clock }: Deps,
  tx: Transaction,
  request: FastifyRequest,
  name: TableName,
  sent: Fields,
): Promise<{ table: LakeTable; is_new: boolean }> {
  const { team_id } = request.access as { team_id: number };
  const held = await holdTable(tx, team_id, name);
  const { requirements } = sent;
  const creates = Array.isArray(requirements) && asksToCreate(requirements);
  if (held === undefined && !creates) throw noTable(name);
  const commit = { requirements: listOf(sent, 'requirements'), updates: listOf(sent, 'updates') };
  const now_ms = clock.now();
  if (held !== undefined) {
    requireCommits(held);
    // A renamed table keeps its folder.
    requirePlace([held.namespace_location, held.location], commit);
    const { writeFile } = await openLakePlace(engine, tx, team_id, held.storage_id);
    return { table: await commitTable(tx, held, commit, { writeFile, now_ms }), is_new: false };
  }
  const namespace = await holdNamespace(tx, team_id, name.levels);
  requirePlace([namespace.location], commit);
  const { writeFile } = await openLakePlace(engine, tx, team_id, namespace.batch_export_id);
  const place = {
    team_id,
    namespace,
    name: checkedName(name.name, 'The name of a table'),
    batch_export_id: null,
  };
  const uuid = uuidIn(commit);
  const location = tableLocation(namespace.location, name.name, uuid);
  const table = await createByCommit(tx, place, location, commit, { writeFile, now_ms });
  return { table, is_new: true };
}

/**
 * Throws 403 for a commit that moves the table out of its namespace's folder, or that names files
 * elsewhere. The server reads and deletes the files that a table names.
 */
function requirePlace(roots: readonly string[], { updates }: Commit): void {
  const named = updates
    .filter(isFields)
    .flatMap((update) => [
      update['location'],
      ...[update['snapshot'], update['statistics'], update['partition-statistics']]
        .filter(isFields)
        .flatMap((one) => [one['manifest-list'], one['statistics-path']]),
    ]);
  for (const uri of named) if (typeof uri === 'string') locationBelow(roots, uri);
}

const uuid_form = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

function uuidIn({ updates }: Commit): string {
  const update = updates.find((one) => isFields(one) && one['action'] === 'assign-uuid');
  const uuid = textOf(objectAt(update, 'assign-uuid'), 'uuid');
  if (!uuid_form.test(uuid)) throw badRequest('assign-uuid needs a UUID.');
  return uuid.toLowerCase();
}

/** Returns the commits of a transaction in the order in which tables are locked. */
function changesOf(sent: Fields): { name: TableName; sent: Fields }[] {
  const changes = listOf(sent, 'table-changes').map((one) => {
    const change = objectAt(one, 'table-changes');
    return { name: nameAt(change, 'identifier'), sent: change };
  });
  const keyOf = ({ name }: { name: TableName }) => JSON.stringify([name.levels, name.name]);
  const sorted = changes.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  if (new Set(changes.map(keyOf)).size < changes.length)
    throw badRequest('A transaction may name each table only once.');
  return sorted;
}

function nameAt(sent: Fields, field: string): TableName {
  const named = objectOf(sent, field);
  return {
    levels: checkedLevels(named['namespace']),
    name: checkedName(named['name'], 'The name of a table'),
  };
}
