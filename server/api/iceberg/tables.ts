import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { v4 as uuidv4 } from 'uuid';
import type { Deps } from '../../deps.ts';
import { openLakePlace } from '../../engine/exports/lake_places/open_place.ts';
import { createTable, registerTable } from '../../engine/model/lake_catalog/commit.ts';
import type { NewTablePlace } from '../../engine/model/lake_catalog/commit.ts';
import { textOf } from '../../engine/model/lake_catalog/fields.ts';
import { metadataText, newMetadata } from '../../engine/model/lake_catalog/metadata.ts';
import { textOfFile } from '../../engine/model/lake_catalog/packed_text.ts';
import { namedFiles, readMetadata } from '../../engine/model/lake_catalog/read_metadata.ts';
import type { NewTable, TableMetadata } from '../../engine/model/lake_catalog/metadata.ts';
import {
  checkedName,
  findNamespace,
  holdNamespace,
  noNamespace,
} from '../../engine/model/lake_catalog/namespaces.ts';
import type { Namespace } from '../../engine/model/lake_catalog/namespaces.ts';
import { badRequest } from '../../engine/model/lake_catalog/refusal.ts';
import {
  dropTable,
  findTable,
  hasTableIn,
  holdTable,
  listTables,
  noTable,
  tableExists,
} from '../../engine/model/lake_catalog/tables.ts';
import type { LakeTable } from '../../engine/model/lake_catalog/tables.ts';
import { writeExactJson } from '../../platform/json/exact_json.ts';
import { exactBody, levelsOf, pageOf, tableOf, tokenAfter } from './asked.ts';
import { changeLake, no_content } from './change.ts';
import { requireCommits } from './commits.ts';
import { lakeDoor, namespace_path, table_path, tables_path } from './door.ts';
import { entryOf } from './entry.ts';
import { isOwnFolder, locationBelow, tableLocation } from './locations.ts';
import {
  delegationOf,
  rightsOn,
  sendTable,
  sendTableById,
  storageOf,
  tableText,
} from './table_answer.ts';

/** Routes that read, create, register and drop tables. */
export function tableRoutes(app: FastifyInstance, deps: Deps): void {
  readRoutes(app, deps);
  createRoutes(app, deps);
  app.delete(table_path, lakeDoor('lake:write', 204), (request, reply) =>
    changeLake(contextOf(deps), request, reply, async (tx, record, afterwards) => {
      const name = tableOf(request);
      const held = await holdTable(tx, request.access.team_id!, name);
      if (held === undefined) throw noTable(name);
      requireCommits(held);
      await dropTable(tx, held);
      record(entryOf('deleted', held));
      const { purgeRequested: purge } = request.query as { purgeRequested?: unknown };
      if (purge === 'true') afterwards(() => purgeFiles(deps, held));
      return no_content;
    }),
  );
}

const contextOf = (deps: Deps) => ({
  deps,
  sendTable: (request: FastifyRequest, reply: FastifyReply, id: string) =>
    sendTableById(deps, request, reply, id),
});

/** Deletes the files of a dropped table, if no other table has files in its folder. */
async function purgeFiles({ engine, db }: Deps, table: LakeTable): Promise<void> {
  if (!isOwnFolder(table.location, table.metadata['table-uuid'])) return;
  // The same metadata may be registered under another name.
  if (await hasTableIn(db, table.location)) return;
  const place = await openLakePlace(engine, db, table.team_id, table.storage_id);
  await place.removeAll(table.location);
}

function readRoutes(app: FastifyInstance, deps: Deps): void {
  const get = async (request: FastifyRequest): Promise<LakeTable> => {
    const name = tableOf(request);
    const found = await findTable(deps.db, request.access.team_id!, name);
    if (found === undefined) throw noTable(name);
    return found;
  };
  app.head(table_path, lakeDoor('lake:read', 204), async (request, reply) => {
    await get(request);
    return reply.code(204).send();
  });
  app.get(table_path, lakeDoor('lake:read', 200), async (request, reply) =>
    sendTable(deps, request, reply, await get(request)),
  );
  app.get(tables_path, lakeDoor('lake:read', 200), async (request) => {
    const namespace = await getNamespace(deps, request);
    const page = pageOf(request);
    const found = await listTables(deps.db, namespace.id, page);
    return {
      identifiers: found.map(({ name }) => ({ namespace: namespace.levels, name })),
      'next-page-token': tokenAfter(
        found.map(({ name }) => name),
        page,
      ),
    };
  });
  // Clients report how long a query took; the catalog ignores that.
  app.post(`${table_path}/metrics`, lakeDoor('lake:read', 204), async (request, reply) => {
    await get(request);
    return reply.code(204).send();
  });
  app.get(`${table_path}/credentials`, lakeDoor('lake:read', 200), async (request) => {
    const table = await get(request);
    const rights = rightsOn(request, table);
    const wanted = new Set(['vended-credentials']);
    const { credentials } = await storageOf(deps, table, rights, wanted);
    return { 'storage-credentials': credentials };
  });
}

async function getNamespace({ db }: Deps, request: FastifyRequest): Promise<Namespace> {
  const levels = levelsOf(request);
  const found = await findNamespace(db, request.access.team_id!, levels);
  if (found === undefined) throw noNamespace(levels);
  return found;
}

function createRoutes(app: FastifyInstance, deps: Deps): void {
  app.post(tables_path, lakeDoor('lake:write', 200), async (request, reply) => {
    const sent = exactBody(request);
    const namespace = await getNamespace(deps, request);
    const name = checkedName(sent['name'], 'The name of a table');
    const named = { levels: namespace.levels, name };
    const table_uuid = uuidv4();
    const { location } = sent;
    const asked: Omit<NewTable, 'now_ms'> = {
      table_uuid,
      location:
        location === undefined || location === null
          ? tableLocation(namespace.location, name, table_uuid)
          : locationBelow([namespace.location], textOf(sent, 'location')),
      schema: sent['schema'],
      partition_spec: sent['partition-spec'],
      write_order: sent['write-order'],
      properties: sent['properties'] ?? {},
    };
    const { writeFile, prepare } = await placeOf(deps, request, namespace);
    if ((await findTable(deps.db, request.access.team_id!, named)) !== undefined)
      throw tableExists(named);
    const metadata = newMetadata({ ...asked, now_ms: deps.clock.now() });
    await prepare(asked.location);
    if (sent['stage-create'] === true)
      return stage(deps, request, reply, namespace, name, metadata);
    return changeLake(contextOf(deps), request, reply, async (tx, record) => {
      const place = await newPlace(tx, request, name);
      const surroundings = { writeFile, now_ms: deps.clock.now() };
      const created = await createTable(tx, place, asked, surroundings);
      record(entryOf('created', created));
      return { status: 200, answer: null, table_id: created.id };
    });
  });

  app.post(`${namespace_path}/register`, lakeDoor('lake:write', 200), async (request, reply) => {
    const sent = exactBody(request);
    const namespace = await getNamespace(deps, request);
    const name = checkedName(sent['name'], 'The name of a table');
    if (sent['overwrite'] === true)
      throw badRequest('register cannot overwrite a table: drop it first.');
    const uri = locationBelow([namespace.location], textOf(sent, 'metadata-location'));
    const place = await placeOf(deps, request, namespace);
    const content = await place.readFile(uri);
    if (content === undefined) throw badRequest(`The file ${uri} does not exist.`);
    const read = readMetadata(textOfFile(uri, content));
    for (const named of namedFiles(read)) locationBelow([namespace.location], named);
    return changeLake(contextOf(deps), request, reply, async (tx, record) => {
      const to = await newPlace(tx, request, name);
      const registered = await registerTable(tx, to, uri, read, deps.clock.now());
      record(entryOf('created', registered));
      return { status: 200, answer: null, table_id: registered.id };
    });
  });
}

const placeOf = ({ engine, db }: Deps, request: FastifyRequest, namespace: Namespace) =>
  openLakePlace(engine, db, request.access.team_id!, namespace.batch_export_id);

async function newPlace(
  tx: Parameters<typeof holdNamespace>[0],
  request: FastifyRequest,
  name: string,
): Promise<NewTablePlace> {
  const { team_id } = request.access as { team_id: number };
  const namespace = await holdNamespace(tx, team_id, levelsOf(request));
  return { team_id, namespace, name, batch_export_id: null };
}

/** Answers with a table that its first commit will create; stores nothing. */
async function stage(
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  { levels, batch_export_id: storage_id }: Namespace,
  name: string,
  metadata: TableMetadata,
): Promise<FastifyReply> {
  const { team_id } = request.access as { team_id: number };
  const table = { levels, name, location: metadata.location, team_id, storage_id };
  const storage = await storageOf(deps, table, 'write', delegationOf(request));
  const text = metadataText(writeExactJson(metadata), '', '');
  return reply.type('application/json').send(tableText(null, text, storage));
}
