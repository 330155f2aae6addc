// Length: each task of a plugin, and what the server gives to it.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import {
  assertTaken,
  enabledPlugin,
  logLines,
  sendEvents,
  storedEvents,
} from '../../../../test/factories/plugins/running_plugins.ts';
import {
  openAroundTests,
  harness,
  target,
  home,
  run,
  soon,
  taken,
  stopped,
  send,
} from '../../../../test/factories/plugins/plugin_runs.ts';
import { openCache } from './cache.ts';

openAroundTests();

test('onEvent gets events since enabling, in order, after processEvent', async () => {
  await sendEvents(home, 3, 'before');
  const code = `${send}
    export const processEvent = (event) =>
      event.properties.number % 2 === 1 ? null : { ...event, event: event.event + '!' };
    export const onEvent = (event, { config }) => post(config, event);`;
  await enabledPlugin(harness, home, 'pipeline_destinations', code, {
    config: { address: target.url },
  });
  run();
  await sendEvents(home, 10, 'first');
  await sendEvents(home, 10, 'second');
  await taken(10);
  const expected = (await storedEvents(harness, home.project.id)).filter(
    ({ event, properties }) => event !== 'before' && JSON.parse(properties).number % 2 === 0,
  );
  assertTaken(
    target.taken.map(({ uuid }) => uuid),
    expected,
  );
  const { uuid, event, timestamp, distinct_id, team_id, person, properties } = target.taken[0];
  const stored = expected.find((one) => one.uuid === uuid)!;
  assert.equal(event, `${stored.event}!`);
  assert.deepEqual(
    [uuid, timestamp, distinct_id, team_id, properties],
    [
      stored.uuid,
      stored.timestamp,
      stored.distinct_id,
      home.project.id,
      JSON.parse(stored.properties),
    ],
  );
  assert.deepEqual(person.properties, {});
});

test('exportEvents gets batches, and only one that throws RetryError comes again', async () => {
  const code =
    `${send} export const exportEvents = (events, { config }) => post(config, events.map(({ ` +
    'uuid }) => uuid));';
  const { url } = await enabledPlugin(harness, home, 'pipeline_destinations', code, {
    config: { address: target.url },
  });
  const asked: string[][] = [];
  target.answer = (body) => {
    asked.push(body);
    return asked.length <= 2 ? 503 : undefined;
  };
  await sendEvents(home, 700);
  run();
  await taken(2);
  assert.deepEqual(
    target.taken.flat(),
    (await storedEvents(harness, home.project.id)).map(({ uuid }) => uuid),
  );
  assert.deepEqual(
    asked.slice(0, 3).map((batch) => batch.length),
    [500, 500, 500],
  );
  assert.deepEqual(asked[0], asked[2]);
  assert.match(
    (await logLines(home, url)).join('\n'),
    /WARNING Sluice retries in .* in a row\): answered 503 \(index\.ts:\d+:\d+\)/,
  );
});

test('composeWebhook: its request is sent in order, and skipped or retried', async () => {
  const code = `export const composeWebhook = (event, { config }) =>
      event.properties.number === 3 ? null : ({
        url: config.address + '/hook',
        method: 'post',
        headers: { 'x-secret': config.secret, 'x-number': event.properties.number },
        body: { number: event.properties.number, uuid: event.uuid },
      });`;
  const { url } = await enabledPlugin(harness, home, 'pipeline_destinations', code, {
    config: { address: target.url, secret: 'hidden-from-all' },
  });
  let refused = 0;
  // Two at most: they may come one after the other, and three in a row would stop the plugin.
  target.answer = ({ number }) =>
    number === 5 ? 400 : number === 7 && (refused += 1) < 2 ? 429 : undefined;
  await sendEvents(home, 9);
  run();
  await taken(7);
  const wanted = (await storedEvents(harness, home.project.id)).filter(
    ({ properties }) => ![3, 5].includes(JSON.parse(properties).number),
  );
  assertTaken(
    target.taken.map(({ uuid }) => uuid),
    wanted,
  );
  const lines = await soon('the log', async () => {
    const found = (await logLines(home, url)).join('\n');
    return found.includes('Set aside') ? found : undefined;
  });
  assert.match(
    lines,
    /ERROR Set aside the event \S+ at "composeWebhook": The receiver refused the webhook \(400\)/,
  );
  assert.doesNotMatch(lines, /hidden-from-all/);
});

test('a task that keeps failing stops the plugin, and its events wait', async () => {
  const code = `${send}
    export const runEveryDay = () => { throw new Error('no source'); };
    export const jobs = { never: () => { throw new Error('no job'); } };
    export const setupPlugin = async ({ jobs, storage }) => {
      for (let at = await storage.get('at', 0); at < 4; at += 1) await jobs.never().runNow();
      await storage.set('at', 4);
    };
    export const onEvent = (event, { config }) => post(config, event.uuid);`;
  const { url, id } = await enabledPlugin(harness, home, 'pipeline_destinations', code, {
    config: { address: target.url },
  });
  run();
  const config = await stopped(url);
  assert.match(
    config.error.message,
    /^Stopped after 3 failures in a row, the last: no job \(index\.ts:/,
  );
  const entries = await harness.deps.db.rows<{ activity: string; user_id: number | null }>(
    sql`SELECT activity, user_id FROM activity WHERE scope = 'plugin_config'
      AND item_id = ${String(id)} ORDER BY number`,
  );
  assert.deepEqual(entries.slice(1), [{ activity: 'stopped', user_id: null }]);
  assert.match((await logLines(home, url)).at(-1)!, /ERROR Stopped after 3 failures/);
  await sendEvents(home, 8);
  const again = await harness.request('PATCH', url, { key: home.key, body: { enabled: true } });
  assert.deepEqual([again.status, again.body.error], [200, null]);
  await taken(8);
  assertTaken(target.taken, await storedEvents(harness, home.project.id));
});

test('an import app runs at once, and its events are stored once over retries', async () => {
  const code = `
    export async function runEveryDay({ storage, config }) {
      const tries = (await storage.get('tries', 0)) + 1;
      await storage.set('tries', tries);
      for (const id of [1, 2, 2])
        await sluice.capture('charged', { distinct_id: 'customer ' + id, amount: id });
      await sluice.capture('dated', { timestamp: '2026-01-02T03:04:05.000Z', n: 1 });
      if (tries === 1) throw new RetryError('not yet');
      await fetch(config.address, { method: 'POST', body: JSON.stringify({ tries }) });
    }`;
  const { url } = await enabledPlugin(harness, home, 'pipeline_import_apps', code, {
    config: { address: target.url },
  });
  run();
  await taken(1);
  assert.deepEqual(target.taken, [{ tries: 2 }]);
  const events = await storedEvents(harness, home.project.id);
  assert.deepEqual(
    events
      .map(({ event, distinct_id, properties }) => [
        event,
        event === 'dated' ? 1 : distinct_id,
        JSON.parse(properties).$lib,
      ])
      .sort(),
    [
      ['charged', 'customer 1', 'sluice-plugin'],
      ['charged', 'customer 2', 'sluice-plugin'],
      ['charged', 'customer 2', 'sluice-plugin'],
      ['dated', 1, 'sluice-plugin'],
    ],
  );
  assert.equal(
    events.find(({ event }) => event === 'dated')!.timestamp,
    '2026-01-02T03:04:05.000000Z',
  );
  assert.match((await logLines(home, url)).join('\n'), /not yet/);
});

test('jobs run when they are due and are retried, and lasting faults fail alone', async () => {
  const code = `
    export async function runEveryDay({ jobs }) {
      await jobs.count({ left: 2 }).runNow();
      await jobs.broken().runIn(1, 'millisecond');
    }
    export const jobs = {
      count: async ({ left }, { jobs, config, storage }) => {
        if ((await storage.get('tried ' + left)) === null) {
          await storage.set('tried ' + left, true);
          throw new RetryError('again');
        }
        await fetch(config.address, { method: 'POST', body: JSON.stringify(left) });
        if (left > 0) await jobs.count({ left: left - 1 }).runNow();
      },
      broken: async () => { throw new Error('for good'); },
    };`;
  const { url, id } = await enabledPlugin(harness, home, 'pipeline_import_apps', code, {
    config: { address: target.url },
  });
  run();
  await taken(3);
  assert.deepEqual(target.taken, [2, 1, 0]);
  const lines = await soon('the end of all jobs', async () => {
    const left = await harness.deps.db.row<{ count: number }>(
      sql`SELECT count(*) AS count FROM plugin_jobs WHERE plugin_config_id = ${id}`,
    );
    const found = (await logLines(home, url)).join('\n');
    return left!.count === 0 && found.includes('for good') ? found : undefined;
  });
  assert.match(lines, /WARNING The job count failed and is tried again: again/);
  assert.match(lines, /ERROR The job broken failed: for good/);
});

test('storage, cache and log', async () => {
  const code = `
    export async function runEveryDay({ storage, cache, utils, config }) {
      const seen = [];
      await storage.set('key', { deep: ['ä', null] });
      seen.push(await storage.get('key'), await storage.get('none', 'other'));
      await storage.del('key'); seen.push(await storage.get('key'));
      await cache.set('short', 1, 1000);
      seen.push(await cache.get('short'), await cache.expire('short', -1));
      seen.push(await cache.get('short'), await cache.expire('none', 1));
      seen.push(await cache.incr('n'), await cache.incr('n'), await utils.cursor.increment('n', 5));
      seen.push(await cache.lpush('list', ['a', 'b', 'c', 'a']), await cache.lrange('list', 0, -1));
      seen.push(await cache.lrange('list', 1, 2), await cache.llen('list'));
      seen.push(await cache.lrem('list', 1, 'a'), await cache.lpop('list', 2));
      seen.push(await cache.lrange('list', 0, -1));
      for (const one of ['x', 'y']) seen.push(await cache.lpush('long', one.repeat(600_000)));
      for (const wrong of [
        () => cache.lpush('n', ['x']),
        () => cache.incr('list'),
        () => storage.set('nul\\u0000', 1),
      ]) {
        try { await wrong(); } catch (error) { seen.push(error.name + ': ' + error.message); }
      }
      console.debug('one'); console.log('two'); console.warn('three'); console.error('four');
      await fetch(config.address, { method: 'POST', body: JSON.stringify(seen) });
    }`;
  const { url } = await enabledPlugin(harness, home, 'pipeline_import_apps', code, {
    config: { address: target.url },
  });
  run();
  const [seen] = await taken(1);
  const lists = [4, ['a', 'c', 'b', 'a'], ['c', 'b'], 4, 1, ['c', 'b'], ['a'], 1, 1];
  const faults = [
    'Error: The value is not a list: it was written with set or incr.',
    'Error: The value of list is not a number.',
    'Error: A key must not have a null character.',
  ];
  const values = [{ deep: ['ä', null] }, 'other', null, 1, true, null, false, 1, 2, 7];
  assert.deepEqual(seen, [...values, ...lists, ...faults]);
  const lines = await soon('the log', async () => {
    const found = await logLines(home, url);
    return found.length >= 4 ? found : undefined;
  });
  assert.deepEqual(lines, ['DEBUG one', 'INFO two', 'WARNING three', 'ERROR four']);
});

test('a cache keeps its newest 10,000 keys, and at most 20 MiB', async () => {
  const code = 'export const onEvent = () => undefined;';
  const { id } = await enabledPlugin(harness, home, 'pipeline_destinations', code, {
    config: { address: target.url },
  });
  const { db } = harness.deps;
  const cache = openCache(db, id);
  const fill = (count: number, value: string) =>
    db.run(sql`INSERT INTO plugin_cache (plugin_config_id, key, value, written_at)
      SELECT ${id}, 'old' || number, ${JSON.stringify(value)}::json,
        '2026-01-01'::timestamptz + make_interval(secs => number)
      FROM generate_series(1, ${count}) number`);
  const keys = async () => {
    const rows = await db.rows<{ key: string }>(sql`SELECT key FROM plugin_cache
      WHERE plugin_config_id = ${id} ORDER BY written_at DESC`);
    return rows.map(({ key }) => key);
  };
  const write = async () => {
    for (let at = 0; at < 200; at += 1) await cache.set(`new${at % 4}`, at, null);
  };
  await fill(10_000, '');
  await write();
  const newest = await keys();
  assert.deepEqual([newest.length, newest[4], newest.at(-1)], [10_000, 'old10000', 'old5']);
  await db.run(sql`DELETE FROM plugin_cache WHERE plugin_config_id = ${id}`);
  await fill(3, randomBytes(6 * 1024 * 1024).toString('base64'));
  await write();
  assert.deepEqual((await keys()).slice(4), ['old3', 'old2']);
});
