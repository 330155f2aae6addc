import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shareHarness } from '../harness.ts';
import type { RegisteredRoute } from '../watchers/registered_routes.ts';
import { everyRoute } from './every_route.ts';
import contract from './contract.json' with { type: 'json' };

type Field = { type: string; format?: string; writable: boolean };
type Endpoint = {
  method: string;
  path: string;
  scope: string | null;
  status: number;
  shape: 'one' | 'offset_list' | 'cursor_list' | null;
  resource?: string;
  body?: string[];
};
type Schema = {
  type?: string | string[];
  anyOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  items?: Schema;
  properties?: Record<string, Schema>;
};

/** Fields that a cursor list has beside those of each, by resource. */
const envelope_additions: Record<string, string[]> = {
  batch_export_run: ['detail', 'next_run', 'retries'],
};

/** Fields that a record has beyond the contract, by resource. */
const additions: Record<string, string[]> = {
  domain: ['managed_by', 'pending_changes', 'pending_set_at', 'pending_set_by', 'verification'],
  organization: ['forbids_agent_writes', 'managed_by'],
  plugin: ['managed_by'],
  batch_export: [
    'allow_empty',
    'columns',
    'connection_id',
    'freshness_seconds',
    'hogql_query',
    'incremental_mode',
    'managed_by',
    'mode',
    'new_columns',
    'next_run',
    'offset_day',
    'offset_hour',
    'offset_minute',
    'pause_reason',
    'primary_key',
    'rejected_percent_max',
    'rejected_rows',
    'rejected_rows_max',
    'schema_number',
    'tags',
    'timezone',
    'verification',
    'verified_through',
    'version_key',
    'waiting_schema',
  ],
  batch_export_run: [
    'backfill',
    'bytes_completed',
    'cancel_requested_at',
    'delivery_id',
    'error_code',
    'kind',
    'next_try_at',
    'records_rejected',
    'repeats',
    'schema_number',
    'steps',
    'values_unfit',
    'oldest_row_seconds',
    'newest_row_seconds',
    'is_run_now',
  ],
  invite: ['managed_by'],
  member: ['directory_token_count', 'last_seen_at', 'managed_by'],
};

/** Fields that only the answer has that creates the record. */
const shown_once: Record<string, string[]> = { invite: ['link'] };

/** Paths whose answer is a record with a list, or with what was asked for, beside it. */
const says_more =
  /\/(logs|source|update_source|activity|repository|unused|exports_unsubscribe_configs)\/$/;

const endpoints = contract.endpoints as Endpoint[];
const resources = contract.resources as Record<string, Record<string, Field>>;

const harness = shareHarness({
  clickhouse: false,
  opened: async () => {
    routes = await everyRoute(harness.deps);
  },
});
let routes: RegisteredRoute[];

// Only where a parameter stands matters, not what the code calls it.
const plain = (path: string) => path.replaceAll(/:\w+/g, ':');
const routeOf = ({ method, path }: Endpoint) =>
  routes.find((route) => route.method === method && plain(route.path) === plain(path));

test('the contract has 68 endpoints; all are built and ask for its scopes', () => {
  assert.equal(endpoints.length, 68);
  for (const endpoint of endpoints) {
    const { scope } =
      routeOf(endpoint) ?? assert.fail(`${endpoint.method} ${endpoint.path} is missing`);
    // An endpoint without a scope in the contract has the read or write scope of the resource.
    if (endpoint.scope === null)
      assert.match(scope, endpoint.method === 'GET' ? /:read$/ : /:write$/, endpoint.path);
    else assert.equal(scope, endpoint.scope, `${endpoint.method} ${endpoint.path}`);
  }
});

test('they answer with its status, shape and fields', () => {
  for (const endpoint of endpoints) {
    const name = `${endpoint.method} ${endpoint.path}`;
    const answer = routeOf(endpoint)!.responses[endpoint.status] as Schema | undefined;
    assert.ok(answer, `${name} lacks ${endpoint.status}`);
    if (endpoint.shape === null) {
      assert.equal(answer.type, 'null', name);
      continue;
    }
    const envelope = {
      one: undefined,
      offset_list: ['count', 'next', 'previous', 'results'],
      cursor_list: ['next', 'previous', 'results'],
    }[endpoint.shape];
    if (envelope !== undefined) {
      const beside = envelope_additions[endpoint.resource!] ?? [];
      assert.deepEqual(
        Object.keys(answer.properties!).sort(),
        endpoint.shape === 'cursor_list' ? [...envelope, ...beside].sort() : envelope,
        name,
      );
    }
    compare(
      name,
      envelope === undefined ? answer : answer.properties!['results']!.items!,
      resources[endpoint.resource!]!,
      endpoint,
    );
  }
});

test('their bodies take its fields', () => {
  for (const endpoint of endpoints.filter((one) => ['POST', 'PATCH'].includes(one.method))) {
    const taken = routeOf(endpoint)!.body?.properties ?? {};
    const isAction = endpoint.status === 200 && endpoint.method === 'POST';
    if (!isAction)
      for (const field of endpoint.body ?? [])
        if (resources[endpoint.resource!]![field]?.writable)
          assert.ok(
            field in taken || field === 'last_paused_at',
            `${endpoint.method} ${endpoint.path} does not take ${field}`,
          );
  }
});

test('PUT is wherever PATCH is', () => {
  for (const route of routes.filter((one) => one.method === 'PATCH'))
    assert.ok(
      routes.some((one) => one.method === 'PUT' && one.path === route.path),
      route.path,
    );
});

function compare(
  name: string,
  schema: Schema,
  fields: Record<string, Field>,
  endpoint: Endpoint,
): void {
  const properties = schema.properties ?? {};
  for (const [field, { type }] of Object.entries(fields)) {
    assert.ok(properties[field], `${name} lacks the field ${field}`);
    if (type !== 'any')
      assert.ok(
        typesOf(properties[field]).includes(type),
        `${name}: ${field} is ${typesOf(properties[field]).join()}, not ${type}`,
      );
  }
  // An action or a record beside its list may say more; the record itself says what the contract
  // lists and nothing else.
  const isPlain = endpoint.method !== 'POST' || endpoint.status === 201;
  if (isPlain && !says_more.test(endpoint.path))
    assert.deepEqual(
      Object.keys(properties).sort(),
      [
        ...Object.keys(fields),
        ...(additions[endpoint.resource!] ?? []),
        ...(endpoint.status === 201 ? (shown_once[endpoint.resource!] ?? []) : []),
      ].sort(),
      name,
    );
}

function typesOf(schema: Schema): string[] {
  if (schema.anyOf !== undefined) return schema.anyOf.flatMap(typesOf);
  const values = schema.enum ?? ('const' in schema ? [schema.const] : undefined);
  if (schema.type === undefined && values !== undefined)
    return values.map((value) => (typeof value === 'number' ? 'integer' : typeof value));
  return [schema.type ?? []].flat();
}
