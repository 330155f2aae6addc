// Length: one catalog is filled step by step, and each step is one rule of the specification.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { v7 as uuidv7 } from 'uuid';
import sql from 'sql-template-tag';
import { aroundTests, folderAroundTests } from '../../../test/around_tests.ts';
import { openHarness } from '../../../test/harness.ts';
import type { Answer, TestOrganization } from '../../../test/harness.ts';
import { parseExactJson } from '../../platform/json/exact_json.ts';

const export_dir = folderAroundTests();
let home: TestOrganization;
let base: string;
const harness = aroundTests(
  () => openHarness({ clickhouse: false, config: { export_dir } }),
  async (opened) => {
    home = await opened.newOrganization();
    base = `/iceberg/v1/${home.project.id}`;
    const body = { namespace: ['sales'], properties: { owner: 'etl' } };
    assert.equal((await home.ask('POST', `${base}/namespaces`, body)).status, 200);
  },
);

const ask = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
  home.ask(method, `${base}${path}`, body, headers);

async function ok(...asked: Parameters<typeof ask>): Promise<Answer> {
  const answer = await ask(...asked);
  assert.ok(answer.status < 300, `${asked[0]} ${asked[1]}: ${answer.status} ${answer.text}`);
  return answer;
}

async function refused(status: number, type: string, ...asked: Parameters<typeof ask>) {
  const answer = await ask(...asked);
  assert.equal(answer.status, status, answer.text);
  assert.deepEqual([answer.body.error.type, answer.body.error.code], [type, status]);
  assert.equal(typeof answer.body.error.message, 'string');
  return answer;
}

const schema = {
  type: 'struct',
  fields: [
    { id: 0, name: 'uuid', type: 'string', required: true },
    { id: 1, name: 'at', type: 'timestamptz', required: false },
  ],
};
const newTable = (name: string, more: object = {}) =>
  ok('POST', '/namespaces/sales/tables', { name, schema, ...more });

const place = () => `file://${export_dir}/lake/${home.project.id}/sales`;

/** The text of an append, its ids beyond 2^53. */
function appendText(id: bigint, parent: bigint | number | null, sequence = 1): string {
  const parented = parent === null ? '' : `"parent-snapshot-id":${parent},`;
  return `{"requirements":[{"type":"assert-ref-snapshot-id","ref":"main","snapshot-id":${parent}}],
    "updates":[{"action":"add-snapshot","snapshot":{"snapshot-id":${id},${parented}
      "sequence-number":${sequence},"timestamp-ms":${Date.now()},"manifest-list":"${place()}/s.avro",
      "summary":{"operation":"append"},"schema-id":0}},
    {"action":"set-snapshot-ref","ref-name":"main","type":"branch","snapshot-id":${id}}]}`;
}
const json = { 'content-type': 'application/json' };
const append = (name: string, text: string, key?: string) =>
  ask('POST', `/namespaces/sales/tables/${name}`, text, {
    ...json,
    ...(key === undefined ? {} : { 'idempotency-key': key }),
  });
type Loaded = {
  'metadata-location': string;
  metadata: Record<string, unknown> & {
    'current-snapshot-id'?: bigint | number;
    snapshots: { 'snapshot-id': bigint }[];
    location: string;
  };
};
const exact = ({ text }: Answer) => parseExactJson(text) as Loaded;
const load = async (name: string) => exact(await ok('GET', `/namespaces/sales/tables/${name}`));
const long_id = 9_007_199_254_740_993n;

test('namespaces: nested, listed by their parent, with properties', async () => {
  await ok('POST', '/namespaces', { namespace: ['sales', 'eu'] });
  await ok('POST', '/namespaces', { namespace: ['sales', 'us'] });
  const parent = await ok('GET', '/namespaces?parent=sales');
  assert.deepEqual(parent.body, {
    namespaces: [
      ['sales', 'eu'],
      ['sales', 'us'],
    ],
    'next-page-token': null,
  });
  const one = await ok('GET', '/namespaces/sales%1Feu');
  assert.deepEqual(one.body.namespace, ['sales', 'eu']);
  assert.match(one.body.properties.location, /^file:.*\/lake\/\d+\/sales\/eu$/);
  assert.equal((await ask('HEAD', '/namespaces/sales%1Feu')).status, 204);
  assert.equal((await ask('HEAD', '/namespaces/sales%1Fasia')).status, 404);
  const changed = await ok('POST', '/namespaces/sales%1Feu/properties', {
    removals: ['none'],
    updates: { a: '1' },
  });
  assert.deepEqual(changed.body, { updated: ['a'], removed: [], missing: ['none'] });
  const both = { removals: ['a'], updates: { a: '2' } };
  const path = '/namespaces/sales%1Feu/properties';
  await refused(422, 'UnprocessableEntityException', 'POST', path, both);
  await refused(409, 'AlreadyExistsException', 'POST', '/namespaces', { namespace: ['sales'] });
  await refused(404, 'NoSuchNamespaceException', 'POST', '/namespaces', { namespace: ['x', 'y'] });
  await refused(404, 'NoSuchNamespaceException', 'GET', '/namespaces?parent=none');
  await refused(409, 'NamespaceNotEmptyException', 'DELETE', '/namespaces/sales');
  assert.equal((await ok('DELETE', '/namespaces/sales%1Fus')).status, 204);
  for (const namespace of [[], ['..'], ['a/b'], 'sales', [1]])
    await refused(400, 'BadRequestException', 'POST', '/namespaces', { namespace });
});

test('lists come in pages when a client asks, else whole', async () => {
  for (const name of ['a', 'b', 'c', 'd', 'e'])
    await ok('POST', '/namespaces', { namespace: ['sales', 'eu', name] });
  const seen: string[] = [];
  let token = '';
  let pages = 0;
  do {
    const { body } = await ok(
      'GET',
      `/namespaces?parent=sales%1Feu&pageSize=2&pageToken=${encodeURIComponent(token)}`,
    );
    seen.push(...body.namespaces.map((levels: string[]) => levels[2]));
    token = body['next-page-token'] ?? '';
    pages += 1;
  } while (token !== '');
  assert.deepEqual([seen, pages], [['a', 'b', 'c', 'd', 'e'], 3]);
  const whole = await ok('GET', '/namespaces?parent=sales%1Feu');
  assert.equal(whole.body.namespaces.length, 5);
  await refused(400, 'BadRequestException', 'GET', '/namespaces?pageSize=0');
});

test('a table is created, loaded and listed, with its file in the export folder', async () => {
  const created = await newTable('orders', { properties: { team: 'a' } });
  const { metadata, 'metadata-location': uri } = exact(created);
  assert.ok(uri.startsWith(`file://${export_dir}/lake/${home.project.id}/sales/orders-`));
  assert.deepEqual(parseExactJson(readFileSync(uri.slice('file://'.length), 'utf8')), metadata);
  assert.deepEqual(metadata['schemas'], [
    {
      type: 'struct',
      'schema-id': 0,
      fields: [
        { id: 1, name: 'uuid', type: 'string', required: true },
        { id: 2, name: 'at', type: 'timestamptz', required: false },
      ],
    },
  ]);
  assert.deepEqual((await load('orders'))['metadata-location'], uri);
  assert.equal((await ask('HEAD', '/namespaces/sales/tables/orders')).status, 204);
  assert.equal((await ask('HEAD', '/namespaces/sales/tables/none')).status, 404);
  const listed = await ok('GET', '/namespaces/sales/tables');
  assert.deepEqual(listed.body.identifiers, [{ namespace: ['sales'], name: 'orders' }]);
  await refused(404, 'NoSuchTableException', 'GET', '/namespaces/sales/tables/none');
  const again = { name: 'orders', schema };
  await refused(409, 'AlreadyExistsException', 'POST', '/namespaces/sales/tables', again);
  const nowhere = '/namespaces/none/tables';
  await refused(404, 'NoSuchNamespaceException', 'POST', nowhere, again);
  assert.equal((await ok('POST', '/namespaces/sales/tables/orders/metrics', {})).status, 204);
});

test('a location outside of the namespace is refused', async () => {
  const { location } = (await ok('GET', '/namespaces/sales')).body.properties;
  const cases = [
    'file:///etc',
    `${location}`,
    `${location}/../../2/x`,
    `${location}/*`,
    `${location}-other/x`,
    's3://bucket/x',
  ];
  for (const one of cases)
    await refused(403, 'ForbiddenException', 'POST', '/namespaces/sales/tables', {
      name: 'moved',
      schema,
      location: one,
    });
  const moving = { action: 'set-location', location: 'file:///etc' };
  await refused(403, 'ForbiddenException', 'POST', '/namespaces/sales/tables/orders', {
    requirements: [],
    updates: [moving],
  });
  const own = await newTable('placed', { location: `${location}/mine` });
  assert.equal(exact(own).metadata.location, `${location}/mine`);
});

test('a commit keeps ids of 63 bits, and its answer is the table', async () => {
  await newTable('exact');
  const answer = await append('exact', appendText(long_id, null));
  assert.equal(answer.status, 200, answer.text);
  assert.equal(exact(answer).metadata['current-snapshot-id'], long_id);
  assert.match(answer.text, /"current-snapshot-id":9007199254740993[,}]/);
  const loaded = await load('exact');
  assert.deepEqual(loaded.metadata.snapshots[0]!['snapshot-id'], long_id);
  assert.equal(loaded['metadata-location'], exact(answer)['metadata-location']);
});

test('of two writers on one state one wins; the other rebases and follows', async () => {
  await newTable('raced');
  const both = await Promise.all([
    append('raced', appendText(1n, null)),
    append('raced', appendText(2n, null)),
  ]);
  assert.deepEqual(both.map(({ status }) => status).toSorted(), [200, 409]);
  const loser = both.find(({ status }) => status === 409)!;
  assert.equal(loser.body.error.type, 'CommitFailedException');
  const winner = (await load('raced')).metadata['current-snapshot-id']!;
  assert.equal((await append('raced', appendText(3n, winner, 2))).status, 200);
  assert.equal((await load('raced')).metadata.snapshots.length, 2);
});

test('a commit whose answer was lost is answered again under its key, and done once', async () => {
  await newTable('lost');
  const key = uuidv7();
  const text = appendText(long_id, null);
  const first = await append('lost', text, key);
  const again = await append('lost', text, key);
  assert.deepEqual([first.status, again.status], [200, 200]);
  assert.equal(again.headers['idempotent-replayed'], 'true');
  assert.equal(again.text, first.text);
  assert.equal((await load('lost')).metadata.snapshots.length, 1);
  // Without the key the same request is a conflict: the client cannot tell it from another's.
  assert.equal((await append('lost', text)).status, 409);
  const other = await append('lost', appendText(5n, long_id, 2), key);
  assert.deepEqual([other.status, other.body.error.type], [422, 'UnprocessableEntityException']);
});

test('repeats that arrive together are one commit', async () => {
  await newTable('together');
  const [key, text] = [uuidv7(), appendText(7n, null)];
  const answers = await Promise.all([1, 2, 3].map(() => append('together', text, key)));
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200],
  );
  assert.equal((await load('together')).metadata.snapshots.length, 1);
});

test('a refusal is final under its key', async () => {
  await newTable('final');
  const key = uuidv7();
  const late = appendText(9n, 8n, 2);
  assert.equal((await append('final', late, key)).status, 409);
  await append('final', appendText(8n, null));
  assert.equal((await append('final', late, key)).status, 409);
  assert.equal((await append('final', late, uuidv7())).status, 200);
  const { status, body } = await append('final', late, 'my-key');
  assert.deepEqual([status, body.error.type], [400, 'BadRequestException']);
});

test('a client that has the table is told so, for each form of it', async () => {
  await newTable('tagged');
  const path = '/namespaces/sales/tables/tagged';
  const { etag } = (await ok('GET', path)).headers;
  const again = (tag: string | undefined, query = '') =>
    ask('GET', `${path}${query}`, undefined, { 'if-none-match': tag ?? '' });
  assert.equal((await again(etag)).status, 304);
  assert.equal((await again(etag, '?snapshots=refs')).status, 200);
  await append('tagged', appendText(1n, null));
  assert.equal((await again(etag)).status, 200);
});

test('snapshots=refs leaves out those that no ref names', async () => {
  await newTable('named');
  await append('named', appendText(1n, null));
  await append('named', appendText(2n, 1n, 2));
  const { body } = await ok('GET', '/namespaces/sales/tables/named?snapshots=refs');
  assert.deepEqual(
    body.metadata.snapshots.map((one: { 'snapshot-id': number }) => one['snapshot-id']),
    [2],
  );
});

test('a prepared table is created by its first commit, once', async () => {
  const staged = await newTable('staged', { 'stage-create': true });
  assert.equal(staged.body['metadata-location'], undefined);
  await refused(404, 'NoSuchTableException', 'GET', '/namespaces/sales/tables/staged');
  const { metadata } = staged.body;
  const commit = {
    requirements: [{ type: 'assert-create' }],
    updates: [
      { action: 'assign-uuid', uuid: metadata['table-uuid'] },
      { action: 'upgrade-format-version', 'format-version': 2 },
      { action: 'add-schema', schema: metadata.schemas[0], 'last-column-id': 2 },
      { action: 'set-current-schema', 'schema-id': -1 },
      { action: 'add-spec', spec: { 'spec-id': 0, fields: [] } },
      { action: 'set-default-spec', 'spec-id': -1 },
      { action: 'add-sort-order', 'sort-order': { 'order-id': 0, fields: [] } },
      { action: 'set-default-sort-order', 'sort-order-id': -1 },
      { action: 'set-location', location: metadata.location },
      { action: 'set-properties', updates: { a: '1' } },
    ],
  };
  const path = '/namespaces/sales/tables/staged';
  const created = await ok('POST', path, commit);
  assert.deepEqual(created.body.metadata.location, metadata.location);
  assert.deepEqual(created.body.metadata.properties, { a: '1' });
  await refused(409, 'CommitFailedException', 'POST', path, commit);
});

test('a transaction changes all of its tables or none', async () => {
  await newTable('left');
  await newTable('right');
  const change = (name: string, uuid?: string) => ({
    identifier: { namespace: ['sales'], name },
    requirements: uuid === undefined ? [] : [{ type: 'assert-table-uuid', uuid }],
    updates: [{ action: 'set-properties', updates: { changed: 'yes' } }],
  });
  const path = '/transactions/commit';
  const stale = change('right', uuidv7());
  await refused(409, 'CommitFailedException', 'POST', path, {
    'table-changes': [change('left'), stale],
  });
  assert.deepEqual((await load('left')).metadata['properties'], {});
  const { status } = await ok('POST', path, {
    'table-changes': [change('right'), change('left')],
  });
  assert.equal(status, 204);
  for (const name of ['left', 'right'])
    assert.deepEqual((await load(name)).metadata['properties'], { changed: 'yes' });
});

test('a table is renamed, dropped, registered again and purged', async () => {
  await newTable('old');
  await append('old', appendText(long_id, null));
  const identifier = (name: string) => ({ namespace: ['sales'], name });
  const rename = { source: identifier('old'), destination: identifier('new') };
  assert.equal((await ok('POST', '/tables/rename', rename)).status, 204);
  await refused(404, 'NoSuchTableException', 'POST', '/tables/rename', rename);
  const taken = { source: identifier('new'), destination: identifier('orders') };
  await refused(409, 'AlreadyExistsException', 'POST', '/tables/rename', taken);
  const before_it = await load('new');
  assert.equal((await ok('DELETE', '/namespaces/sales/tables/new')).status, 204);
  await refused(404, 'NoSuchTableException', 'GET', '/namespaces/sales/tables/new');
  const registered = await ok('POST', '/namespaces/sales/register', {
    name: 'again',
    'metadata-location': before_it['metadata-location'],
  });
  assert.deepEqual(exact(registered).metadata, before_it.metadata);
  assert.equal((await append('again', appendText(4n, long_id, 2))).status, 200);
  await refused(403, 'ForbiddenException', 'POST', '/namespaces/sales/register', {
    name: 'stolen',
    'metadata-location': 'file:///etc/passwd',
  });
  const folder = before_it.metadata.location.slice('file://'.length);
  assert.ok(existsSync(folder));
  await ok('DELETE', '/namespaces/sales/tables/again?purgeRequested=true');
  assert.ok(!existsSync(folder));
});

test('clients commit to the table of an export only where an administrator allows it', async () => {
  await newTable('exported');
  const { id } = (await ok('GET', '/namespaces/sales/tables/exported')) && (await exportOf());
  await harness.deps.db.run(
    sql`UPDATE lake_tables SET batch_export_id = ${id}::uuid WHERE name = 'exported'`,
  );
  const answer = await append('exported', appendText(1n, null));
  assert.deepEqual([answer.status, answer.body.error.type], [403, 'ForbiddenException']);
  assert.match(answer.body.error.message, /sluice\.foreign-commits/);
  await refused(403, 'ForbiddenException', 'DELETE', '/namespaces/sales/tables/exported');
  const member = await harness.newMember(home.organization.id, 1);
  const allowing = { updates: { 'sluice.foreign-commits': 'true' } };
  const path = `${base}/namespaces/sales/properties`;
  assert.equal((await member.ask('POST', path, allowing)).status, 403);
  assert.equal((await home.ask('POST', path, allowing)).status, 200);
  assert.equal((await append('exported', appendText(1n, null))).status, 200);
});

/** An export to files; no run of it is needed. */
async function exportOf(): Promise<{ id: string }> {
  const { status, body, text } = await home.ask(
    'POST',
    `/api/projects/${home.project.id}/batch_exports/`,
    {
      name: 'to the lake',
      interval: 'hour',
      destination: { type: 'File', config: { prefix: 'lake', file_format: 'JSONLines' } },
    },
  );
  assert.equal(status, 201, text);
  return body as { id: string };
}

test('another organization sees and changes nothing, and is told nothing', async () => {
  const stranger = await harness.newOrganization();
  const unknown = '/iceberg/v1/2147483647';
  for (const [method, path] of [
    ['GET', '/namespaces'],
    ['GET', '/namespaces/sales'],
    ['GET', '/namespaces/sales/tables/orders'],
    ['GET', '/namespaces/sales/tables/orders/credentials'],
    ['POST', '/namespaces/sales/tables/orders'],
    ['POST', '/namespaces/sales/tables/orders/sign'],
    ['DELETE', '/namespaces/sales/tables/orders'],
    ['POST', '/transactions/commit'],
  ] as const) {
    const body = method === 'POST' ? {} : undefined;
    const foreign = await stranger.ask(method, `${base}${path}`, body);
    const missing = await stranger.ask(method, `${unknown}${path}`, body);
    assert.equal(foreign.status, 404, `${method} ${path}`);
    assert.deepEqual(foreign.body, missing.body);
  }
  // Its own namespace of the same name is another one.
  const own = `/iceberg/v1/${stranger.project.id}`;
  assert.equal(
    (await stranger.ask('POST', `${own}/namespaces`, { namespace: ['sales'] })).status,
    200,
  );
  const listed = await stranger.ask('GET', `${own}/namespaces/sales/tables`);
  assert.deepEqual(listed.body.identifiers, []);
});

test('what is sent wrong is told as clients read it', async () => {
  const path = '/namespaces/sales/tables/orders';
  await refused(400, 'BadRequestException', 'POST', path, { requirements: [] });
  await refused(400, 'BadRequestException', 'POST', path, {
    requirements: [{ type: 'assert-the-moon' }],
    updates: [],
  });
  await refused(400, 'BadRequestException', 'POST', path, {
    requirements: [],
    updates: [{ action: 'add-moon' }],
  });
  for (const unnamed of ['/namespaces/%00', '/namespaces/sales/tables/%00'])
    assert.equal((await ask('GET', unnamed)).status, 404);
  const marked = await ask('POST', path, '\ufeff{"requirements":[],"updates":[]}', json);
  assert.equal(marked.status, 200, marked.text);
  const broken = await ask('POST', path, '{"requirements":', json);
  assert.deepEqual([broken.status, broken.body.error.type], [400, 'BadRequestException']);
  const anonymous = await harness.request('GET', `${base}/namespaces`);
  assert.deepEqual([anonymous.status, anonymous.body.error.type], [401, 'NotAuthorizedException']);
});
