import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Engine } from '../../../engine/exports/engine.ts';
import { changesOf } from '../../../platform/activity/changes.ts';
import { uuidParameter } from '../../../platform/http/caller/access.ts';
import { NoFields, body } from '../../../platform/http/bodies/body.ts';
import { conflict, missing } from '../../../platform/http/errors.ts';
import { query } from '../../../platform/http/lists/query.ts';
import { write } from '../../../platform/http/write.ts';
import type { Entry } from '../../../platform/http/write.ts';
import type { Queryable } from '../../../platform/postgres/database.ts';
import { getPresence } from '../found.ts';
import type { Mount } from '../../../platform/http/caller/mount.ts';
import { addList, addRoute, addWrite } from '../../../platform/http/records.ts';
import { createBulkAction, shownAction } from './create.ts';
import { BulkAction, BulkActionItem, ItemsQuery, NewBulkAction, NewRunsAction } from './schema.ts';
import { abortBulkAction, findBulkAction, listBulkActions, listItems } from './store.ts';
import type { BulkActionRow } from './store.ts';

const frozen =
  'The request fixes the items, whatever changes later. The server works through them by ' +
  'itself, also after a restart; every item gets its result. `validate_only` only counts the ' +
  'items.';

/** Routes `bulk_actions/`, and `runs/bulk/` of an export. */
export function bulkActionRoutes(app: FastifyInstance, engine: Engine, mount: Mount): void {
  const base = mount.base.replace(/batch_exports\/$/, 'bulk_actions/');
  listRoute(app, { ...mount, base });
  makingRoutes(app, mount, base);
  recordRoutes(app, engine, { ...mount, base });
  abortRoute(app, { ...mount, base });
}

function listRoute(app: FastifyInstance, { base, within }: Mount): void {
  addList(app, {
    url: base,
    config: { scope: 'batch_export:read', within },
    summary: 'List the actions on many runs or exports, newest first',
    description: 'Sluice keeps them for 30 days.',
    answer: BulkAction,
    rows: ({ access }) => listBulkActions(access),
    shown: shownAction,
  });
}

function makingRoutes(app: FastifyInstance, { base: exports, within }: Mount, base: string): void {
  const config = { scope: 'batch_export:write', within } as const;
  const create = (
    request: FastifyRequest,
    reply: FastifyReply,
    asked: (db: Queryable) => Promise<NewBulkAction>,
  ) =>
    write(request, reply, 201, async (tx, record) => {
      const wanted = await asked(tx);
      const id = await createBulkAction(request, tx, wanted);
      const created = shownAction((await findBulkAction(tx, request.access, id))!);
      record(
        entryOf('created', created, changesOf({}, { ...wanted, total: created.progress.total })),
      );
      return created;
    });
  addRoute(app, {
    method: 'POST',
    url: base,
    config,
    summary: 'Act on many runs or exports',
    description: frozen,
    body: NewBulkAction,
    response: { 201: BulkAction },
    handler: (request, reply) =>
      create(request, reply, () => Promise.resolve(body(request, NewBulkAction))),
  });
  addRoute(app, {
    method: 'POST',
    url: `${exports}:batch_export_id/runs/bulk/`,
    config,
    summary: 'Retry or cancel many runs of an export',
    description: `The answer is an action of \`bulk_actions/\`. ${frozen}`,
    body: NewRunsAction,
    response: { 201: BulkAction },
    handler: (request, reply) =>
      create(request, reply, async (db) => {
        const { id } = await getPresence(request, db, 'batch_export_id');
        const { filter, ...asked } = body(request, NewRunsAction);
        const named = asked.ids === undefined && filter === undefined;
        return { ...asked, ...(named ? {} : { filter: { ...filter, batch_export: id } }) };
      }),
  });
}

function recordRoutes(app: FastifyInstance, engine: Engine, { base, within }: Mount): void {
  const reading = { scope: 'batch_export:read', within } as const;
  addRoute(app, {
    url: `${base}:id/`,
    config: reading,
    summary: 'Retrieve a bulk action with its progress',
    response: { 200: BulkAction },
    handler: async (request) => shownAction(await getAction(request, engine.db)),
  });
  addList(app, {
    url: `${base}:id/items/`,
    config: reading,
    summary: 'List the results of a bulk action, in the order of its items',
    querystring: ItemsQuery,
    answer: BulkActionItem,
    rows: async (request) => {
      const { outcome } = query(request, ItemsQuery);
      const { id } = await getAction(request, engine.db);
      return listItems(id, outcome);
    },
  });
}

function abortRoute(app: FastifyInstance, { base, within }: Mount): void {
  addWrite(app, {
    url: `${base}:id/abort/`,
    config: { scope: 'batch_export:write', within },
    summary: 'End a bulk action; finished items stay',
    response: { 200: BulkAction },
    work: async ({ request, tx, record }) => {
      const before = await getAction(request, tx, 'lock');
      body(request, NoFields);
      if (before.status !== 'Running')
        throw conflict(`The action has ended: its status is ${before.status}.`);
      await abortBulkAction(tx, before.id, null);
      const after = shownAction(await getAction(request, tx));
      record(entryOf('aborted', after, changesOf({ status: 'Running' }, { status: 'Aborted' })));
      return after;
    },
  });
}

async function getAction(
  request: FastifyRequest,
  db: Queryable,
  lock?: 'lock',
): Promise<BulkActionRow> {
  return (
    (await findBulkAction(db, request.access, uuidParameter(request, 'id'), lock)) ?? missing()
  );
}

function entryOf(activity: string, { id, action }: BulkAction, changes: Entry['changes']): Entry {
  return { activity, scope: 'bulk_action', item_id: id, item_name: action, changes };
}
