import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { TObject } from 'typebox';
import { v7 as uuidv7 } from 'uuid';
import type { Engine } from '../../../engine/exports/engine.ts';
import { body } from '../../../platform/http/bodies/body.ts';
import { uuidParameter } from '../../../platform/http/caller/access.ts';
import { conflict, missing } from '../../../platform/http/errors.ts';
import { ifMatch } from '../../../platform/http/etag.ts';
import { Problem } from '../../../platform/http/responses.ts';
import { write } from '../../../platform/http/write.ts';
import { addList, addRoute, addWrite } from '../../../platform/http/records.ts';
import type { Queryable } from '../../../platform/postgres/database.ts';
import { connectionEntry } from './activity.ts';
import { changeConnection, createConnection } from './change.ts';
import { Connection, ConnectionCreate, ConnectionPatch, ConnectionReplacement } from './schema.ts';
import {
  deleteConnection,
  findConnection,
  listConnections,
  lockConnection,
  selectConnection,
} from './store.ts';
import type { StoredConnection } from './store.ts';
import { testRoutes } from './test_route.ts';

const list = '/api/organizations/:organization_id/connections/';
const one = `${list}:id/`;
const reading = { scope: 'batch_export:read', within: 'organization' } as const;
const changing = { scope: 'batch_export:write', within: 'organization', level: 8 } as const;

/**
 * Routes of stored credentials that batch exports share: list, create, retrieve, change, delete,
 * test.
 */
export function connectionRoutes(app: FastifyInstance, engine: Engine): void {
  readingRoutes(app);
  createRoute(app, engine);
  changingRoutes(app, engine);
  deleteRoute(app);
  testRoutes(app, engine, list);
}

function readingRoutes(app: FastifyInstance): void {
  addList(app, {
    url: list,
    config: reading,
    summary: 'List the connections of an organization, newest first',
    answer: Connection,
    rows: (request) => listConnections(request.access.organization_id),
  });
  addRoute(app, {
    url: one,
    config: { ...reading, record: selectConnection },
    summary: 'Retrieve a connection',
    response: { 200: Connection },
    handler: async (request) => request.record ?? missing(),
  });
}

function createRoute(app: FastifyInstance, engine: Engine): void {
  const schema = {
    summary: 'Create a connection',
    description:
      'The address and credentials of a server or account, once for many exports, which name ' +
      'it as their `connection_id`. Violations of keys are named `config__<key>`.',
    body: ConnectionCreate,
    response: { 201: Connection },
  };
  addWrite(app, {
    url: list,
    config: changing,
    ...schema,
    work: async ({ request, tx, record }) => {
      const { organization_id } = request.access;
      const id = uuidv7();
      const sent = body(request, ConnectionCreate);
      const after = await createConnection(engine, tx, { id, organization_id, ...sent });
      const created = await getConnection(tx, organization_id, id);
      record(connectionEntry(engine, 'created', { shown: created, stored: after }));
      return created;
    },
  });
}

function changingRoutes(app: FastifyInstance, engine: Engine): void {
  const change =
    (schema: typeof ConnectionPatch | typeof ConnectionReplacement, how: 'merge' | 'replace') =>
    (request: FastifyRequest, reply: FastifyReply) =>
      write(request, reply, 200, async (tx, record) => {
        const { organization_id } = request.access;
        const id = uuidParameter(request, 'id');
        const stored = (await lockConnection(tx, organization_id, id)) ?? missing();
        const before = await getConnection(tx, organization_id, id);
        ifMatch(request, before);
        const sent = body(request, schema as typeof ConnectionPatch);
        const after = await changeConnection(engine, tx, organization_id, { stored, sent, how });
        const shown = await getConnection(tx, organization_id, id);
        const was = { shown: before, stored };
        record(connectionEntry(engine, 'updated', { shown, stored: after }, was), before);
        return shown;
      });
  const schema = (summary: string, sent: TObject, more: string) => ({
    summary,
    description:
      `${more} Every export of the connection uses the change from its next attempt on. The ` +
      'type cannot change. If you change a key of the address, send each stored secret again ' +
      '(400 `required`). If the data is then in another place, the exports start a new ' +
      'revision.',
    body: sent,
    response: { 200: Connection },
  });
  addRoute(app, {
    method: 'PATCH',
    url: one,
    config: changing,
    ...schema(
      'Change the sent fields of a connection',
      ConnectionPatch,
      'The config is merged key by key: an absent secret is kept, one sent as null is removed.',
    ),
    handler: change(ConnectionPatch, 'merge'),
  });
  addRoute(app, {
    method: 'PUT',
    url: one,
    config: changing,
    ...schema(
      'Change a connection',
      ConnectionReplacement,
      'The config is replaced, except for secrets that you do not send.',
    ),
    handler: change(ConnectionReplacement, 'replace'),
  });
}

function deleteRoute(app: FastifyInstance): void {
  const schema = {
    summary: 'Delete a connection that no batch export uses',
    response: {
      204: { type: 'null' },
      409: { ...Problem, description: 'Batch exports use it; the detail names them.' },
    },
  };
  addWrite(app, {
    method: 'DELETE',
    url: one,
    config: changing,
    ...schema,
    work: async ({ request, tx, record }) => {
      const { organization_id } = request.access;
      const id = uuidParameter(request, 'id');
      const stored: StoredConnection = (await lockConnection(tx, organization_id, id)) ?? missing();
      const before = await getConnection(tx, organization_id, id);
      ifMatch(request, before);
      refuseUsed(before);
      record(
        connectionEntry(request.server.context, 'deleted', undefined, { shown: before, stored }),
      );
      await deleteConnection(tx, id);
    },
  });
}

/** Throws 409 if exports use it. */
function refuseUsed({ batch_exports, batch_export_count }: Connection): void {
  if (batch_export_count === 0) return;
  const named = batch_exports.slice(0, 10).map(({ name }) => JSON.stringify(name));
  const more = batch_export_count - named.length;
  const users = `${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  throw conflict(
    `Batch exports use this connection: ${users}. Give them another connection or their own ` +
      'address, or delete them. Then try again.',
  );
}

async function getConnection(
  db: Queryable,
  organization_id: string,
  id: string,
): Promise<Connection> {
  return (await findConnection(db, organization_id, id)) ?? missing();
}
