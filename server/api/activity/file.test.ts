import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { openHarness } from '../../../test/harness.ts';
import type { Answer, Harness, TestOrganization } from '../../../test/harness.ts';
import { appendActivity, server_actor } from '../../platform/activity/chain.ts';

/** More than the file reads at once. */
const entries_written = 600;

let harness: Harness;
let home: TestOrganization;
before(async () => {
  harness = await openHarness({
    clickhouse: false,
    deps: { clock: { now: () => Date.parse('2026-11-21T23:59:59Z') } },
  });
  home = await harness.newOrganization();
  const { db, secrets } = harness.deps;
  const { id: organization_id } = home.organization;
  const item_name = 'line\nbreak\u2028';
  const first = { activity: 'created', scope: 'odd', item_id: '1', item_name, changes: [] };
  await db.transaction((tx) =>
    appendActivity(tx, secrets, { organization_id }, server_actor, first),
  );
  // Others like it, whose hashes nothing here looks at.
  await db.run(sql`
    INSERT INTO activity SELECT (jsonb_populate_record(a, jsonb_build_object(
      'id', gen_random_uuid(), 'number', n, 'item_id', n::text,
      'scope', CASE WHEN n % 2 = 0 THEN 'even' ELSE 'odd' END,
      'created_at', a.created_at + n * interval '1 microsecond'))).*
    FROM activity a CROSS JOIN generate_series(2, ${entries_written}::integer) n
    WHERE a.organization_id = ${organization_id}`);
});
after(() => harness.close());

const url = (query = '') => `/api/organizations/${home.organization.id}/activity/${query}`;
const linesOf = ({ text }: Answer) =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record<string, any>);

test('the file has every entry, in order, once, as lists show them', async () => {
  const answer = await home.ask('GET', url('?format=ndjson'));
  assert.deepEqual(
    [answer.status, answer.headers['content-type'], answer.headers['content-disposition']],
    [200, 'application/x-ndjson', 'attachment; filename="activity-2026-11-21.ndjson"'],
  );
  assert.equal(answer.headers['etag'], undefined);
  const lines = linesOf(answer);
  assert.deepEqual(
    lines.map(({ number }) => number),
    Array.from({ length: entries_written }, (_, index) => entries_written - index),
  );
  const { body } = await home.ask('GET', url('?limit=1000'));
  assert.deepEqual(lines, body.results);
  assert.deepEqual(
    [lines[0]!['user'], lines[0]!['ip'], lines[0]!['request_id']],
    [null, null, null],
  );
});

test('a file is requested by the Accept header or the query', async () => {
  const lines = 'application/x-ndjson';
  const cases: [string, string | undefined, string][] = [
    ['', undefined, 'application/json'],
    ['', '*/*', 'application/json'],
    ['', lines, lines],
    ['', `${lines}, application/json;q=0.5`, 'application/json'],
    ['', `text/plain, ${lines};q=0.9`, lines],
    ['?format=ndjson', undefined, lines],
    ['?format=ndjson', '*/*', lines],
    ['?format=json', lines, 'application/json'],
  ];
  for (const [query, accept, expected] of cases) {
    const narrow = query === '' ? '?item_id=7' : `${query}&item_id=7`;
    const answer = await harness.request('GET', url(narrow), {
      key: home.key,
      headers: accept === undefined ? {} : { accept },
    });
    assert.equal(answer.headers['content-type']!.split(';')[0], expected, `${query} ${accept}`);
  }
  for (const accept of ['text/html', `${lines};q=0`])
    assert.equal(
      (await harness.request('GET', url(), { key: home.key, headers: { accept } })).status,
      406,
    );
  const elsewhere = await harness.request('GET', '/api/projects/', {
    key: home.key,
    headers: { accept: lines },
  });
  assert.equal(elsewhere.status, 406);
});

test('filters and order hold in the file; nothing found is an empty one', async () => {
  const odd = linesOf(await home.ask('GET', url('?format=ndjson&scope=odd&ordering=number')));
  assert.deepEqual([odd.length, odd[0]!['number'], odd[1]!['number']], [entries_written / 2, 1, 3]);
  const none = await home.ask('GET', url('?format=ndjson&scope=none'));
  assert.deepEqual([none.status, none.text], [200, '']);
  const count = harness.deps.db.statementCount();
  const head = await home.ask('HEAD', url('?format=ndjson'));
  assert.deepEqual(
    [head.status, head.headers['content-type'], head.text],
    [200, 'application/x-ndjson', ''],
  );
  assert.ok(harness.deps.db.statementCount() - count <= 2);
});

test('the own log of a person is a file too', async () => {
  const cookie = await harness.newSession(home.user);
  await harness.request('POST', '/api/personal_api_keys/', {
    headers: { cookie },
    body: { label: 'CI', scopes: ['*'] },
  });
  const lines = linesOf(
    await harness.request('GET', '/api/users/@me/activity/?format=ndjson', { headers: { cookie } }),
  );
  assert.deepEqual(
    lines.map(({ item_name }) => item_name),
    ['CI'],
  );
});

/** Does something once, when the first portion of a file has been read. */
function afterFirstPortion(happens: () => Promise<unknown>): () => void {
  const { rows } = harness.deps.db;
  let isDone = false;
  harness.deps.db.rows = async <Row>(statement: Sql) => {
    const found = await rows<Row>(statement);
    if (!isDone && statement.text.includes('FROM activity a')) {
      isDone = true;
      await happens();
    }
    return found;
  };
  return () => void (harness.deps.db.rows = rows);
}

/**
 * The connection ended before the answer did; anything that the harness itself complains about is
 * another fault.
 */
const isCut = (error: unknown) =>
  error instanceof Error &&
  !(error instanceof assert.AssertionError) &&
  /destroyed|aborted|premature/i.test(error.message);

const endings: [string, (user: { id: number }, key_id: string) => Sql][] = [
  [
    'the key is revoked',
    (_user, key_id) => sql`DELETE FROM personal_api_keys WHERE id = ${key_id}::uuid`,
  ],
  [
    'the key expires',
    (_user, key_id) =>
      sql`UPDATE personal_api_keys SET expires_at = '2026-11-21' WHERE id = ${key_id}::uuid`,
  ],
  ['the member is removed', (user) => sql`DELETE FROM members WHERE user_id = ${user.id}`],
  [
    'the person is deactivated',
    (user) => sql`UPDATE users SET is_active = false WHERE id = ${user.id}`,
  ],
];
for (const [what, statement] of endings) {
  test(`a file in progress breaks off when ${what}`, async () => {
    const { user, key } = await harness.newMember(home.organization.id, 8);
    const { id } = (await harness.deps.db.row<{ id: string }>(
      sql`SELECT id FROM personal_api_keys WHERE user_id = ${user.id}`,
    ))!;
    const putBack = afterFirstPortion(() => harness.deps.db.run(statement(user, id)));
    try {
      await assert.rejects(harness.request('GET', url('?format=ndjson'), { key }), isCut);
    } finally {
      putBack();
    }
    assert.notEqual((await harness.request('GET', url(), { key })).status, 200);
  });
}

test('a file in progress continues while the right lasts, also in a session', async () => {
  const cookie = await harness.newSession(home.user);
  assert.equal(
    linesOf(await harness.request('GET', url('?format=ndjson'), { headers: { cookie } })).length,
    entries_written,
  );
  await harness.deps.db.run(
    sql`UPDATE sessions SET expires_at = '2026-11-22T00:00:00Z' WHERE user_id = ${home.user.id}`,
  );
  const putBack = afterFirstPortion(() =>
    harness.deps.db.run(sql`DELETE FROM sessions WHERE user_id = ${home.user.id}`),
  );
  await assert
    .rejects(harness.request('GET', url('?format=ndjson'), { headers: { cookie } }), isCut)
    .finally(putBack);
});
