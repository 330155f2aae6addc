import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { rules_max } from '../../engine/ingest/rules/rule.ts';
import { changesOf } from '../../platform/activity/changes.ts';
import { uuidParameter } from '../../platform/http/caller/access.ts';
import { body } from '../../platform/http/bodies/body.ts';
import { isoInstant } from '../../platform/clock.ts';
import { invalid, invalidMany, missing } from '../../platform/http/errors.ts';
import { ifMatch } from '../../platform/http/etag.ts';
import { PageQuery, answerPage, pageOf } from '../../platform/http/lists/pagination.ts';
import { query } from '../../platform/http/lists/query.ts';
import { write } from '../../platform/http/write.ts';
import type { Entry } from '../../platform/http/write.ts';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import { ruleFaults } from './faults.ts';
import {
  IngestionRule,
  IngestionRuleCreate,
  IngestionRuleOrder,
  IngestionRulePatch,
  OrderedRules,
  RuleCounts,
  RuleCountsQuery,
} from './schema.ts';
import type { IngestionRuleFields, IngestionRuleRow } from './schema.ts';
import {
  allIngestionRules,
  beginRuleChange,
  countIngestionRules,
  deleteIngestionRule,
  ensureHashKey,
  findIngestionRule,
  listIngestionRules,
  listRuleCounts,
  nextPosition,
  orderIngestionRules,
  storeIngestionRule,
} from './store.ts';
import { tryRoute } from './try_route.ts';

const list = '/api/projects/:project_id/ingestion_rules/';
const one = `${list}:id/`;
const reading = { scope: 'project:read', within: 'project' } as const;
const changing = { scope: 'project:write', within: 'project', level: 8 } as const;
const holds = 'The change holds for requests that begin a second later.';
const day_ms = 24 * 3_600_000;

/**
 * `/api/projects/:project_id/ingestion_rules/`: what a project drops, hashes, renames and sets
 * before an event is stored; list, create, change, order, delete, count, try.
 */
export function ingestionRuleRoutes(app: FastifyInstance, deps: Deps): void {
  listRoutes(app, deps);
  recordRoute(app, deps);
  changeRoutes(app, deps);
  deleteRoute(app);
  orderRoute(app);
  countsRoute(app, deps);
  tryRoute(app, deps);
}

function listRoutes(app: FastifyInstance, { db, secrets }: Deps): void {
  app.get(
    list,
    {
      config: reading,
      schema: {
        summary: 'List the ingestion rules of a project in their order',
        querystring: PageQuery,
        response: { 200: pageOf(IngestionRule) },
      },
    },
    (request) =>
      answerPage<IngestionRuleRow>(request, db, listIngestionRules(request.access.team_id!)),
  );

  app.post(
    list,
    {
      config: changing,
      schema: {
        summary: 'Create an ingestion rule',
        description: holds,
        body: IngestionRuleCreate,
        response: { 201: IngestionRule },
      },
    },
    (request, reply) =>
      write(request, reply, 201, async (tx, record) => {
        const team_id = request.access.team_id!;
        const sent = body(request, IngestionRuleCreate);
        await beginRuleChange(tx, team_id);
        if ((await countIngestionRules(tx, team_id)) >= rules_max)
          throw invalid(null, 'max_items', `A project has at most ${rules_max} ingestion rules.`);
        const rule: IngestionRuleFields = {
          events: [],
          property: null,
          target: sent.action === 'set_property' ? 'event' : 'any',
          new_name: null,
          value: null,
          only_if_missing: false,
          enabled: true,
          ...sent,
          position: sent.position ?? (await nextPosition(tx, team_id)),
        };
        const id = await storeChecked(tx, secrets, team_id, rule);
        const created = await findIngestionRule(tx, team_id, id);
        record(entryOf('created', undefined, created));
        return created;
      }),
  );
}

function recordRoute(app: FastifyInstance, { db }: Deps): void {
  app.get(
    one,
    {
      config: reading,
      schema: { summary: 'Retrieve an ingestion rule', response: { 200: IngestionRule } },
    },
    (request) => getRule(db, request),
  );
}

function deleteRoute(app: FastifyInstance): void {
  app.delete(
    one,
    {
      config: changing,
      schema: {
        summary: 'Delete an ingestion rule',
        description: `${holds} What it changed stays changed.`,
        response: { 204: { type: 'null' } },
      },
    },
    (request, reply) =>
      write(request, reply, 204, async (tx, record) => {
        await beginRuleChange(tx, request.access.team_id!);
        const before = await getRule(tx, request, 'lock');
        ifMatch(request, before);
        record(entryOf('deleted', before, undefined));
        await deleteIngestionRule(tx, before.id);
      }),
  );
}

function changeRoutes(app: FastifyInstance, { secrets }: Deps): void {
  const change =
    (schema: typeof IngestionRulePatch | typeof IngestionRuleCreate) =>
    (request: FastifyRequest, reply: FastifyReply) =>
      write(request, reply, 200, async (tx, record) => {
        const team_id = request.access.team_id!;
        await beginRuleChange(tx, team_id);
        const before = await getRule(tx, request, 'lock');
        ifMatch(request, before);
        const changes = body(request, schema);
        await storeChecked(tx, secrets, team_id, { ...before, ...changes }, before.id);
        const after = await getRule(tx, request);
        record(entryOf('updated', before, after), before);
        return after;
      });
  const response = { 200: IngestionRule };
  app.patch(
    one,
    {
      config: changing,
      schema: {
        summary: 'Change the sent fields of an ingestion rule',
        description: holds,
        body: IngestionRulePatch,
        response,
      },
    },
    change(IngestionRulePatch),
  );
  app.put(
    one,
    {
      config: changing,
      schema: {
        summary: 'Change an ingestion rule; what may be left out keeps its value',
        description: holds,
        body: IngestionRuleCreate,
        response,
      },
    },
    change(IngestionRuleCreate),
  );
}

function orderRoute(app: FastifyInstance): void {
  app.post(
    `${list}order/`,
    {
      config: changing,
      schema: {
        summary: 'Put the ingestion rules of a project into another order',
        description: `Numbers them from 1 on. ${holds}`,
        body: IngestionRuleOrder,
        response: { 200: OrderedRules },
      },
    },
    (request, reply) =>
      write(request, reply, 200, async (tx, record) => {
        const team_id = request.access.team_id!;
        const { ids } = body(request, IngestionRuleOrder);
        await beginRuleChange(tx, team_id);
        const before = await allIngestionRules(tx, team_id);
        const wanted = new Set(ids);
        if (wanted.size !== ids.length || !isSame(wanted, before))
          throw invalid('ids', 'invalid_input', 'Name each rule of the project once.');
        await orderIngestionRules(tx, team_id, ids);
        const results = await allIngestionRules(tx, team_id);
        const [from, to] = [before, results].map((rules) => rules.map(({ name }) => name));
        record({
          activity: 'ordered',
          scope: 'ingestion_rule',
          item_id: String(team_id),
          item_name: null,
          changes: changesOf({ order: from }, { order: to }, []),
        });
        return { results };
      }),
  );
}

function isSame(wanted: Set<string>, rules: IngestionRuleRow[]): boolean {
  return wanted.size === rules.length && rules.every(({ id }) => wanted.has(id));
}

function countsRoute(app: FastifyInstance, { db, clock }: Deps): void {
  app.get(
    `${list}counts/`,
    {
      config: reading,
      schema: {
        summary: 'Count the events that ingestion rules changed or dropped, by day',
        description:
          'Up to date to a second, kept for 90 days. A changed event counts once it is stored, a ' +
          'dropped one each time that it comes. A crash of the server may lose the counts of its ' +
          'last second, and never an event.',
        querystring: RuleCountsQuery,
        response: { 200: RuleCounts },
      },
    },
    async (request) => {
      const asked = query(request, RuleCountsQuery);
      const before = asked.before ?? isoInstant(clock.now());
      const after = asked.after ?? isoInstant(Date.parse(before) - day_ms);
      const range = { after, before };
      return { ...range, results: await listRuleCounts(db, request.access.team_id!, range) };
    },
  );
}

/** Checks the rule as a whole, and stores it. Throws a 400 that lists every violation. */
async function storeChecked(
  tx: Transaction,
  secrets: Deps['secrets'],
  team_id: number,
  rule: IngestionRuleFields,
  id?: string,
): Promise<string> {
  const faults = ruleFaults(rule);
  if (faults.length > 0) throw invalidMany(faults);
  if (rule.action === 'hash_property') await ensureHashKey(tx, secrets, team_id);
  return storeIngestionRule(tx, team_id, rule, id);
}

/** The rule that the path names; throws 404 without one. */
async function getRule(
  db: Queryable,
  request: FastifyRequest,
  lock?: 'lock',
): Promise<IngestionRuleRow> {
  const id = uuidParameter(request, 'id');
  return (await findIngestionRule(db, request.access.team_id!, id, lock)) ?? missing();
}

function entryOf(
  activity: string,
  before: IngestionRuleRow | undefined,
  after: IngestionRuleRow | undefined,
): Entry {
  const { id, name } = (after ?? before)!;
  return {
    activity,
    scope: 'ingestion_rule',
    item_id: id,
    item_name: name,
    changes: changesOf(before, after, ['updated_at', 'managed_by']),
  };
}
