import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { Type } from 'typebox';
import { refusalOf } from '../../../../test/refusal.ts';
import { openHarness } from '../../../../test/harness.ts';
import {
  answerKeyset,
  cursorPageOf,
  cursorQuery,
  keysetAsked,
  keysetCondition,
  keysetOrder,
} from './cursor.ts';
import { PageQuery, answerPage, pageOf } from './pagination.ts';
import { buildServer } from '../server.ts';
import { aroundTests } from '../../../../test/around_tests.ts';

const columns = ['created_at', 'other_at'] as const;
const Item = Type.Object({ id: Type.String(), created_at: Type.String(), other_at: Type.String() });
type Item = { id: string; created_at: string; other_at: string };

let key: string;
const harness = aroundTests(
  () =>
    openHarness({
      clickhouse: false,
      build: (deps) =>
        buildServer(
          deps,
          (app) => {
            app.get(
              '/api/pages/',
              {
                config: { scope: 'project:read' },
                schema: { querystring: PageQuery, response: { 200: pageOf(Item) } },
              },
              (request) =>
                answerPage<Item>(request, deps.db, {
                  rows: (page) =>
                    sql`SELECT * FROM items ORDER BY id LIMIT ${page.limit} OFFSET ${page.offset}`,
                  count: sql`SELECT count(*) AS count FROM items`,
                }),
            );
            app.get(
              '/api/long_pages/',
              {
                config: { scope: 'project:read' },
                schema: { querystring: PageQuery, response: { 200: pageOf(Type.Unknown()) } },
              },
              (request) =>
                answerPage(request, deps.db, {
                  // Long where lengths are asked for, short where they are read: the page is not
                  // the point.
                  rows: ({ limit, offset }) => sql`
                    SELECT n, CASE WHEN ${limit} = 1000 THEN repeat('x', 500000) END AS text
                    FROM generate_series(1, 150) n ORDER BY n LIMIT ${limit} OFFSET ${offset}`,
                  count: sql`SELECT 150 AS count`,
                }),
            );
            app.get(
              '/api/cursors/',
              {
                config: { scope: 'project:read' },
                schema: {
                  querystring: cursorQuery(columns),
                  response: { 200: cursorPageOf(Item) },
                },
              },
              async (request) => {
                const keyset = keysetAsked(request, columns);
                return answerKeyset(
                  request,
                  keyset,
                  await deps.db.rows<Item>(
                    sql`SELECT * FROM items WHERE ${keysetCondition(keyset)}
                      ${keysetOrder(keyset)}`,
                  ),
                );
              },
            );
            // The links keep parameters that the routes do not know.
          },
          () => true,
        ),
    }),
  async (opened) => {
    ({ key } = await opened.newOrganization());
    await opened.deps.db.text(
      'CREATE TABLE items (id uuid PRIMARY KEY, created_at timestamptz NOT NULL, other_at ' +
        'timestamptz NOT NULL)',
    );
    await insert(0, 25);
  },
);

// Groups of four share a created_at, so that ties are ordered by id.
const insert = (from: number, to: number) =>
  harness.deps.db.run(
    sql`INSERT INTO items SELECT lpad(n::text, 32, '0')::uuid,
      '2026-01-01Z'::timestamptz + (n / 4) * interval '0.123457 s',
      '2026-02-01Z'::timestamptz - n * interval '1 s'
      FROM generate_series(${from}::integer, ${to - 1}::integer) n`,
  );
const get = (path: string) => harness.request('GET', path, { key });
const numbers = (answer: { body: { results: Item[] } }) =>
  answer.body.results.map((row) => Number(row.id.replaceAll('-', '')));
const local = (url: string) => url.replace('http://127.0.0.1:8000', '');

test('offset lists: links are absolute, keep parameters, are null at the ends', async () => {
  const first = await get('/api/pages/?limit=10&mine=a%20b&mine=c');
  assert.equal(first.body.count, 25);
  assert.equal(first.body.previous, null);
  assert.equal(
    first.body.next,
    'http://127.0.0.1:8000/api/pages/?limit=10&mine=a+b&mine=c&offset=10',
  );
  const last = await get('/api/pages/?limit=10&offset=20');
  assert.equal(last.body.next, null);
  assert.equal(last.body.previous, 'http://127.0.0.1:8000/api/pages/?limit=10&offset=10');
  assert.deepEqual(numbers(last), [20, 21, 22, 23, 24]);
  for (const offset of ['1000', '2147483648', '9'.repeat(30)]) {
    const beyond = await get(`/api/pages/?offset=${offset}`);
    assert.deepEqual([beyond.status, beyond.body.count, beyond.body.results], [200, 25, []]);
  }
  const exact = await get('/api/pages/?limit=25');
  assert.deepEqual([exact.body.count, exact.body.next, exact.body.results.length], [25, null, 25]);
  assert.equal((await get('/api/pages/?limit=100000')).status, 200);
});

test('a page of very long records is shorter, and `next` continues behind it', async () => {
  const { body } = await get('/api/long_pages/?limit=1000');
  assert.deepEqual([body.count, body.results.length], [150, 134]);
  assert.equal(local(body.next), '/api/long_pages/?limit=1000&offset=134');
  const { body: rest } = await get(local(body.next));
  assert.deepEqual([rest.next, rest.results.map(({ n }: { n: number }) => n).at(-1)], [null, 150]);
  assert.equal(rest.results.length, 16);
});

test('a limit or offset that is not a whole number in range is 400', async () => {
  for (const query of [
    'limit=0',
    'limit=-1',
    'limit=x',
    'limit=',
    'limit=1.5',
    'limit=1e3',
    'limit=%2B1',
    'limit=1&limit=2',
    'offset=-1',
    'offset=x',
    'limit= 5',
  ]) {
    const answer = await get(`/api/pages/?${query.replaceAll(' ', '%20')}`);
    assert.equal(answer.status, 400, query);
    assert.equal(answer.body.attr, query.split('=')[0]);
  }
  const both = await get('/api/pages/?limit=x&offset=y');
  assert.deepEqual(
    both.body.errors.map((entry: { attr: string }) => entry.attr),
    ['limit', 'offset'],
  );
});

test('cursor lists: every order walks through all rows once, forwards and back again', async () => {
  for (const ordering of ['created_at', '-created_at', 'other_at', '-other_at']) {
    const pages: number[][] = [];
    let answer = await get(`/api/cursors/?limit=7&ordering=${ordering}`);
    assert.equal(answer.body.previous, null);
    assert.ok(!('count' in answer.body));
    for (;;) {
      pages.push(numbers(answer));
      if (answer.body.next === null) break;
      answer = await get(local(answer.body.next));
    }
    assert.deepEqual(
      pages.map((page) => page.length),
      [7, 7, 7, 4],
      ordering,
    );
    assert.equal(new Set(pages.flat()).size, 25);
    for (const wanted of pages.slice(0, -1).toReversed()) {
      answer = await get(local(answer.body.previous));
      assert.deepEqual(numbers(answer), wanted, ordering);
      assert.notEqual(answer.body.next, null);
    }
    assert.equal(answer.body.previous, null, ordering);
  }
});

test('cursor lists are newest first by default, and stable while rows are inserted', async () => {
  const first = await get('/api/cursors/?limit=10');
  assert.deepEqual(numbers(first), [24, 23, 22, 21, 20, 19, 18, 17, 16, 15]);
  await insert(100, 110);
  assert.deepEqual(numbers(await get(local(first.body.next))), [14, 13, 12, 11, 10, 9, 8, 7, 6, 5]);
});

test('a broken cursor, one of another order and an unknown order are 400', async () => {
  const { next } = (await get('/api/cursors/?limit=2')).body;
  const cursor = new URL(next).searchParams.get('cursor')!;
  const created = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const id = '00000000-0000-0000-0000-000000000001';
  const wrong = [
    '',
    'x',
    '%00',
    cursor.slice(2),
    created(1),
    created(null),
    created(['-created_at', "'; DROP", id, false]),
    created(['-created_at', '2026-13-01T00:00:00Z', id, false]),
    created(['-created_at', '2026-01-01T00:00:00Z', 'x', false]),
    created(['-created_at', '2026-01-01T00:00:00Z', id, 1]),
  ];
  for (const value of wrong)
    assert.equal((await get(`/api/cursors/?cursor=${value}`)).status, 400, value);
  assert.equal((await get(`/api/cursors/?cursor=${cursor}&ordering=other_at`)).body.attr, 'cursor');
  for (const ordering of ['id', '--created_at', 'created_at,other_at', '']) {
    const answer = await get(`/api/cursors/?ordering=${ordering}`);
    assert.deepEqual(refusalOf(answer), [400, 'ordering', 'invalid_choice'], ordering);
  }
});
