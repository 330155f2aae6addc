import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { eventually } from '../../../test/eventually.ts';
import { openHarness } from '../../../test/harness.ts';
import { countWaiting } from '../../../test/watchers/waiting_statements.ts';
import { buildApp } from '../../app.ts';
import { sweep } from './health/housekeeping.ts';
import { buildServer } from './server.ts';
import { write } from './write.ts';
import { aroundTests } from '../../../test/around_tests.ts';

let now = Date.now();
let release: () => void = () => {};
let fail = false;

const harness = aroundTests(() =>
  openHarness({
    clickhouse: false,
    deps: { clock: { now: () => now } },
    build: (deps) =>
      buildServer(deps, (app) => {
        // A change that waits until the test lets it go, and can be made to crash.
        const slow = (path: string, is_one_write: boolean) =>
          app.post(
            path,
            {
              config: { scope: 'organization:write', is_one_write },
              schema: {
                response: { 200: { type: 'object', properties: { id: { type: 'string' } } } },
              },
            },
            (request, reply) =>
              write(request, reply, 200, async (tx, record) => {
                record('nothing');
                const row = await tx.row<{ id: string }>(
                  sql`INSERT INTO server_facts (name, value) VALUES (gen_random_uuid()::text, '{}')
                  RETURNING name AS id`,
                );
                await new Promise<void>((resolve) => (release = resolve));
                if (fail) throw new Error('crash');
                return { id: row!.id };
              }),
          );
        slow('/api/slow/', false);
        slow('/api/once/', true);
      }),
  }),
);

const facts = async () =>
  (await harness.deps.db.row<{ count: number }>(sql`SELECT count(*) AS count FROM server_facts`))!
    .count;
const post = (key: string, idempotency: string, body: unknown = {}, url = '/api/slow/') =>
  harness.app.inject({
    method: 'POST',
    url,
    headers: {
      authorization: `Bearer ${key}`,
      'idempotency-key': idempotency,
      'content-type': 'application/json',
    },
    payload: JSON.stringify(body),
  });
const idle = () => {};
/** A request that runs until it is let go, and how that is done. */
const begin = async (key: string, idempotency: string, body?: unknown, url?: string) => {
  release = idle;
  const answer = post(key, idempotency, body, url);
  await eventually('the handler did not start', async () => release !== idle);
  const letGo = release;
  return async () => {
    letGo();
    return answer;
  };
};
/** A request that runs to its end. */
const finish = async (key: string, idempotency: string, body?: unknown) =>
  (await begin(key, idempotency, body))();

test('while the first request runs a second is 409; afterwards it is a replay', async () => {
  const { key } = await harness.newOrganization();
  const before = await facts();
  const first = await begin(key, 'one');
  const second = await post(key, 'one');
  assert.equal(second.statusCode, 409);
  assert.equal(second.json().code, 'conflict');
  const answered = await first();
  assert.equal(answered.statusCode, 200);
  const replay = await post(key, 'one');
  assert.equal(replay.statusCode, 200);
  assert.equal(replay.body, answered.body);
  assert.equal(replay.headers['idempotent-replayed'], 'true');
  assert.equal(replay.headers['etag'], answered.headers['etag']);
  assert.equal(await facts(), before + 1);
});

test('a route of one write claims its key with the answer, once', async () => {
  const { key } = await harness.newOrganization();
  const before = await facts();
  const once = (name: string, body?: unknown) => begin(key, name, body, '/api/once/');
  const [first, second] = [await once('late'), await once('late')];
  const answered = await second();
  assert.equal(answered.statusCode, 200);
  assert.equal((await first()).statusCode, 409);
  assert.equal(await facts(), before + 1);
  const replay = await post(key, 'late', {}, '/api/once/');
  assert.equal(replay.headers['idempotent-replayed'], 'true');
  assert.equal(replay.body, answered.body);
  assert.equal((await post(key, 'late', { other: 1 }, '/api/once/')).statusCode, 422);
  fail = true;
  assert.equal((await (await once('broken'))()).statusCode, 500);
  fail = false;
  assert.equal((await (await once('broken'))()).statusCode, 200, 'a fault leaves the key free');
  now += 24 * 3_600_000;
  assert.equal((await (await once('late', { other: 1 }))()).statusCode, 200, 'a day later');
  now -= 24 * 3_600_000;
  assert.equal(await facts(), before + 3);
});

test('a request that met a failover gives its key to the next try, and does nothing', async () => {
  const { key } = await harness.newOrganization();
  const before = await facts();
  const first = await begin(key, 'failed-over');
  await harness.deps.db.run(sql`UPDATE idempotency_keys SET epoch = 0
    WHERE key = 'failed-over'`);
  assert.equal((await finish(key, 'failed-over')).statusCode, 200);
  assert.equal((await first()).statusCode, 409);
  assert.equal(await facts(), before + 1);
});

test('another body is 422; another caller and another path have keys of their own', async () => {
  const { key } = await harness.newOrganization();
  const other = await harness.newOrganization();
  await finish(key, 'two', { a: 1 });
  const mismatch = await post(key, 'two', { a: 2 });
  assert.equal(mismatch.statusCode, 422);
  assert.equal(mismatch.json().code, 'idempotency_mismatch');
  assert.equal((await finish(other.key, 'two', { a: 2 })).statusCode, 200);
});

test('a key with fewer scopes does not get the answer that one with more was given', async () => {
  const { key, user } = await harness.newOrganization();
  const withScopes = (...scopes: string[]) => harness.newKey(user, { scopes });
  await finish(key, 'scoped');
  const narrow = await post(await withScopes('organization:write'), 'scoped');
  assert.deepEqual([narrow.statusCode, narrow.json().code], [422, 'idempotency_mismatch']);
  await finish(await withScopes('organization:write', 'plugin:read'), 'turned');
  const turned = await post(await withScopes('plugin:read', 'organization:write'), 'turned');
  assert.equal(turned.headers['idempotent-replayed'], 'true');
});

test('the stored digest of a body cannot be guessed without the server’s key', async () => {
  const { key, user } = await harness.newOrganization();
  const body = { password: 'a password among others' };
  assert.equal((await finish(key, 'kept', body)).statusCode, 200);
  const row = await harness.deps.db.row<{ body_hash: Buffer }>(
    sql`SELECT body_hash FROM idempotency_keys WHERE user_id = ${user.id} AND key = 'kept'`,
  );
  const text = JSON.stringify(body);
  for (const plain of [text, `\0${text}`])
    for (const algorithm of ['sha256', 'sha1', 'md5'])
      assert.notEqual(
        row!.body_hash.toString('hex'),
        hash(algorithm, plain),
        `${algorithm} of the body`,
      );
});

test('a 5xx is not kept: the same key works again', async () => {
  const { key } = await harness.newOrganization();
  fail = true;
  assert.equal((await finish(key, 'three')).statusCode, 500);
  fail = false;
  const answer = await finish(key, 'three');
  assert.equal(answer.statusCode, 200);
  assert.equal(answer.headers['idempotent-replayed'], undefined);
});

test('the key of a crashed request frees itself, and that request cannot commit', async () => {
  const { key } = await harness.newOrganization();
  const before = await facts();
  const stuck = await begin(key, 'four');
  assert.equal((await post(key, 'four')).statusCode, 409);
  now += 121_000;
  assert.equal((await finish(key, 'four')).statusCode, 200);
  assert.equal((await stuck()).statusCode, 409);
  assert.equal(await facts(), before + 1);
});

test('after 24 h a key is new, and the sweep removes old ones', async () => {
  const { key } = await harness.newOrganization();
  for (const replayed of [undefined, 'true', undefined]) {
    const answer = await (replayed === undefined ? finish : post)(key, 'five');
    assert.equal(answer.headers['idempotent-replayed'], replayed);
    if (replayed === 'true') now += 24 * 3_600_000;
  }
  now += 24 * 3_600_000 + 1;
  await sweep(harness.deps);
  assert.equal(
    (await harness.deps.db.row<{ count: number }>(
      sql`SELECT count(*) AS count FROM idempotency_keys`,
    ))!.count,
    0,
  );
});

test('a real route acts once, replays 400s and refuses bad keys', async () => {
  const whole = await openHarness({ clickhouse: false, build: buildApp });
  try {
    const { key } = await whole.newOrganization();
    const create = (idempotency: string, body: unknown, query = '') =>
      whole.request('POST', `/api/projects/${query}`, {
        key,
        body,
        headers: { 'idempotency-key': idempotency },
      });
    assert.equal((await create('a', { name: 'x' }, '?validate_only=true')).status, 200);
    const [one, two] = await Promise.all([create('a', { name: 'x' }), create('a', { name: 'x' })]);
    assert.deepEqual([one.status, two.status].filter((status) => status !== 409).at(0), 201);
    const replay = await create('a', { name: 'x' });
    assert.equal(replay.headers['idempotent-replayed'], 'true');
    assert.equal((await whole.request('GET', '/api/projects/', { key })).body.count, 2);
    assert.equal((await create('b', { name: '' })).status, 400);
    const again = await create('b', { name: '' });
    assert.equal(again.status, 400);
    assert.equal(again.headers['idempotent-replayed'], 'true');
    assert.match(again.headers['content-type']!, /^application\/problem\+json/);
    assert.equal((await create('b', { name: 'right' })).status, 422);
    for (const wrong of ['', 'with space', 'x'.repeat(256)])
      assert.equal((await create(wrong, { name: 'x' })).status, 400, wrong);
    assert.equal((await create('a', { name: 'x' }, '?validate_only=perhaps')).status, 400);
  } finally {
    await whole.close();
  }
});

test('a request whose account is deleted before its key is taken is 401', async () => {
  const { key, user } = await harness.newOrganization({ level: 15 });
  const { db } = harness.deps;
  const asked = await db.transaction(async (tx) => {
    await tx.run(sql`DELETE FROM users WHERE id = ${user.id}`);
    const answer = post(key, 'of-nobody');
    await eventually(
      'the request does not wait for the deletion',
      async () => (await countWaiting(db)) > 0,
    );
    return { answer };
  });
  assert.equal((await asked.answer).statusCode, 401);
});
