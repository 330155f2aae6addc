import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { installedWebhook } from '../../../../../test/factories/plugins/installed_webhook.ts';
import {
  harness,
  home,
  openAroundTests,
  run,
  soon,
  stopAll,
  taken,
  target,
} from '../../../../../test/factories/plugins/plugin_runs.ts';
import {
  assertTaken,
  sendEvents,
  storedEvents,
} from '../../../../../test/factories/plugins/running_plugins.ts';

openAroundTests();

const stored = () => storedEvents(harness, home.project.id);
const read = async (path: string) => (await home.ask('GET', path)).body;
const uuids = () => target.taken.flat().map(({ messageId }) => messageId);
const waiting = () =>
  harness.deps.db.rows<{ tries: number; is_replay: boolean }>(
    sql`SELECT w.tries, w.is_replay FROM plugin_waiting w
      JOIN plugin_configs c ON c.id = w.plugin_config_id
      WHERE c.team_id = ${home.project.id} ORDER BY w.id`,
  );

/** Starts a replay; it can be awaited until it is completed. */
async function replay(url: string, wanted: object) {
  const begun = await home.ask('POST', `${url}replays/`, { rate: 1_000, ...wanted });
  assert.equal(begun.status, 200, begun.text);
  return () =>
    soon('the end of the replay', async () => {
      const { results } = await read(`${url}replays/`);
      const own = results.find(({ id }: { id: string }) => id === begun.body.id);
      return own.state === 'Completed' ? own : undefined;
    });
}

test('A replay has the batches of its mapping, and finds the one bad event', async () => {
  await sendEvents(home, 30);
  const url = await installedWebhook(home, target.url, { batch_size: 30 });
  const sizes: number[] = [];
  target.answer = (batch) => {
    sizes.push(batch.length);
    const persons = batch.map((one: { userId: string }) => one.userId);
    assert.equal(new Set(persons).size, persons.length);
    return batch.some(({ properties }: any) => properties.number === 13) ? 400 : undefined;
  };
  const ended = await replay(url, { source: 'events', rate: 10 });
  run();
  const { done } = await ended();
  await stopAll();
  assert.deepEqual([done, sizes[0], Math.max(...sizes)], [30, 10, 10]);
  const { results } = await read(`${url}set_aside/`);
  assert.equal(results.length, 1);
  const events = await stored();
  const bad = events.find(({ uuid }) => uuid === results[0].event_uuid)!;
  assert.equal(JSON.parse(bad.properties).number, 13);
  assertTaken(
    uuids(),
    events.filter(({ uuid }) => uuid !== bad.uuid),
  );
});

test('An event that fails holds up its person alone, also over a new start', async () => {
  await sendEvents(home, 20);
  const url = await installedWebhook(home, target.url, {});
  // Only the store knows the order within an instant.
  const first = (await stored()).find(({ distinct_id }) => distinct_id === 'person-0')!;
  target.answer = ({ messageId }) => (messageId === first.uuid ? 503 : undefined);
  const ended = await replay(url, { source: 'events' });
  run();
  assert.equal((await ended()).done, 20);
  assert.equal(uuids().length, 18);
  assert.deepEqual(
    (await waiting()).map(({ is_replay }) => is_replay),
    [true, true],
  );
  for (const enabled of [false, true]) {
    const changed = await home.ask('PATCH', url, { enabled });
    assert.equal(changed.status, 200, changed.text);
  }
  target.answer = () => undefined;
  await taken(20);
  await soon('an empty room', async () => ((await waiting()).length === 0 ? true : undefined));
  await stopAll();
  assertTaken(uuids(), await stored());
  const { results } = await read(`${url}sends/?event_uuid=${first.uuid}`);
  assert.ok(results.length > 1 && results.every((one: any) => one.is_replay));
  assert.equal(results[0].outcome, 'sent');
});

test('An event that was set aside and fails again waits, and is set aside no more', async () => {
  const url = await installedWebhook(home, target.url, {});
  target.answer = () => 422;
  await sendEvents(home, 5);
  run();
  const aside = async () => (await read(`${url}set_aside/`)).count;
  await soon('five set aside', async () => ((await aside()) === 5 ? true : undefined));
  target.answer = ({ properties }) =>
    properties.number === 0 ? 503 : properties.number === 1 ? 422 : undefined;
  const ended = await replay(url, { source: 'set_aside' });
  assert.equal((await ended()).done, 5);
  const { results } = await read(`${url}set_aside/`);
  assert.deepEqual(
    results.map(({ attempts }: { attempts: number }) => attempts),
    [2],
  );
  assert.equal((await waiting()).length, 1);
  target.answer = () => undefined;
  await taken(4);
  await stopAll();
  assert.equal(new Set(uuids()).size, 4);
});

test('While the tool takes nothing a replay stands, and sends nothing twice after', async () => {
  await sendEvents(home, 40);
  const url = await installedWebhook(home, target.url, {});
  let asked = 0;
  // The tool goes down within a part of the replay, and comes back.
  target.answer = () => ((asked += 1) > 15 && asked < 40 ? 503 : undefined);
  const ended = await replay(url, { source: 'events' });
  run();
  assert.equal((await ended()).done, 40);
  await taken(40);
  await stopAll();
  assertTaken(uuids(), await stored());
  assert.equal((await read(`${url}set_aside/`)).count, 0);
});
