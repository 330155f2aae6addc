import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import type { Deps } from '../../deps.ts';
import { rules_max } from '../../engine/ingest/rules/rule.ts';
import { changesOf } from '../../platform/activity/changes.ts';
import { body } from '../../platform/http/bodies/body.ts';
import { isoInstant } from '../../platform/clock.ts';
import { uuidParameter } from '../../platform/http/caller/access.ts';
import { invalid, invalidMany, missing } from '../../platform/http/errors.ts';
import { query } from '../../platform/http/lists/query.ts';
import {
  addList,
  addRecord,
  addRoute,
  addWrite,
  changing,
  entryWriter,
  reading,
} from '../../platform/http/records.ts';
import type { Records } from '../../platform/http/records.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
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
const holds = 'The change applies to requests that start a second later.';
const day_ms = 24 * 3_600_000;

const ingestion_rules: Records<IngestionRuleRow> = {
  url: `${list}:id/`,
  answer: IngestionRule,
  reading,
  changing,
  get: async (db, request, lock) =>
    (await findIngestionRule(db, request.access.team_id!, uuidParameter(request, 'id'), lock)) ??
    missing(),
  hold: async (tx, request) => {
    await beginRuleChange(tx, request.access.team_id!);
    return ingestion_rules.get(tx, request, 'lock');
  },
  entry: entryWriter('ingestion_rule', ({ name }) => name, ['updated_at', 'managed_by']),
};

/**
 * Routes of `/api/projects/:project_id/ingestion_rules/`: rules that drop, hash, rename and set
 * properties before an event is stored; list, create, change, order, delete, count, try.
 */
export function ingestionRuleRoutes(app: FastifyInstance, deps: Deps): void {
  addList(app, {
    url: list,
    config: reading,
    summary: 'List the ingestion rules of a project in their order',
    answer: IngestionRule,
    rows: ({ access }) => listIngestionRules(access.team_id!),
  });
  createRoute(app, deps);
  recordRoutes(app, deps);
  orderRoute(app);
  countsRoute(app, deps);
  tryRoute(app, deps);
}

function createRoute(app: FastifyInstance, deps: Deps): void {
  addWrite(app, {
    url: list,
    config: changing,
    summary: 'Create an ingestion rule',
    description: holds,
    body: IngestionRuleCreate,
    response: { 201: IngestionRule },
    work: async ({ request, tx, record }) => {
      const team_id = request.access.team_id!;
      const sent = body(request, IngestionRuleCreate);
      await beginRuleChange(tx, team_id);
      const id = await storeChecked(deps, tx, team_id, await completeRule(tx, team_id, sent));
      const created = await findIngestionRule(tx, team_id, id);
      record(ingestion_rules.entry('created', undefined, created, [], request));
      return created;
    },
  });
}

function recordRoutes(app: FastifyInstance, deps: Deps): void {
  addRecord(app, ingestion_rules, {
    retrieve: { summary: 'Retrieve an ingestion rule' },
    change: {
      description: holds,
      patch: { summary: 'Change the sent fields of an ingestion rule', body: IngestionRulePatch },
      put: {
        summary: 'Change an ingestion rule; what may be left out keeps its value',
        body: IngestionRuleCreate,
      },
      apply: async ({ tx, request, before, schema }) => {
        const rule = { ...before, ...body(request, schema) };
        await storeChecked(deps, tx, request.access.team_id!, rule, before);
      },
    },
    remove: {
      summary: 'Delete an ingestion rule',
      description: `${holds} Events that it has changed stay changed.`,
      apply: ({ tx, before }) => deleteIngestionRule(tx, before.id),
    },
  });
}

/** Stores a rule, a new one without `before`. Throws a 400 that lists its faults. */
async function storeChecked(
  { secrets }: Deps,
  tx: Transaction,
  team_id: number,
  rule: IngestionRuleFields,
  before?: IngestionRuleRow,
): Promise<string> {
  const faults = ruleFaults(rule);
  if (faults.length > 0) throw invalidMany(faults);
  if (rule.action === 'hash_property') await ensureHashKey(tx, secrets, team_id);
  return storeIngestionRule(tx, team_id, rule, before?.id);
}

async function completeRule(
  tx: Transaction,
  team_id: number,
  sent: Static<typeof IngestionRuleCreate>,
): Promise<IngestionRuleFields> {
  if ((await countIngestionRules(tx, team_id)) >= rules_max)
    throw invalid(null, 'max_items', `A project has at most ${rules_max} ingestion rules.`);
  return {
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
}

function orderRoute(app: FastifyInstance): void {
  addWrite(app, {
    url: `${list}order/`,
    config: changing,
    summary: 'Put the ingestion rules of a project into another order',
    description: `Numbers them from 1 on. ${holds}`,
    body: IngestionRuleOrder,
    response: { 200: OrderedRules },
    work: async ({ request, tx, record }) => {
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
    },
  });
}

function isSame(wanted: Set<string>, rules: IngestionRuleRow[]): boolean {
  return wanted.size === rules.length && rules.every(({ id }) => wanted.has(id));
}

function countsRoute(app: FastifyInstance, { db, clock }: Deps): void {
  addRoute(app, {
    url: `${list}counts/`,
    config: reading,
    summary: 'Count the events that ingestion rules changed or dropped, by day',
    description:
      'A second behind, kept for 90 days. A changed event counts when it is stored, a ' +
      'dropped one each time it arrives. A crash of the server may lose the counts of ' +
      'its last second, but no event.',
    querystring: RuleCountsQuery,
    response: { 200: RuleCounts },
    handler: async (request) => {
      const asked = query(request, RuleCountsQuery);
      const before = asked.before ?? isoInstant(clock.now());
      const after = asked.after ?? isoInstant(Date.parse(before) - day_ms);
      const range = { after, before };
      return { ...range, results: await listRuleCounts(db, request.access.team_id!, range) };
    },
  });
}
