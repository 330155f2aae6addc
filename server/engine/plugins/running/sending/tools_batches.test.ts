import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import {
  assertTaken,
  logLines,
  sendEvents,
  storedEvents,
} from '../../../../../test/factories/plugins/running_plugins.ts';
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
import { installedWebhook } from '../../../../../test/factories/plugins/installed_webhook.ts';

openAroundTests();

const stored = () => storedEvents(harness, home.project.id);
const uuids = () => target.taken.flat().map(({ messageId }) => messageId);

test('A batch has one event of each person, and one bad event is found and set aside', async () => {
  const url = await installedWebhook(home, target.url, { batch_size: 20 });
  const sizes: number[] = [];
  target.answer = (batch) => {
    sizes.push(batch.length);
    const persons = batch.map((one: { userId: string }) => one.userId);
    assert.equal(new Set(persons).size, persons.length);
    return batch.some(({ properties }: any) => properties.number === 13) ? 400 : undefined;
  };
  await sendEvents(home, 30);
  run();
  await soon('all but one', async () => (uuids().length === 29 ? true : undefined));
  const { results } = await soon('the bad one', async () => {
    const list = (await home.ask('GET', `${url}set_aside/`)).body;
    return list.count === 1 ? list : undefined;
  });
  await stopAll();
  const events = await stored();
  assert.deepEqual([sizes[0], Math.max(...sizes)], [10, 10]);
  assertTaken(
    uuids(),
    events.filter(({ uuid }) => uuid !== results[0].event_uuid),
  );
  assert.equal(
    JSON.parse(events.find(({ uuid }) => uuid === results[0].event_uuid)!.properties).number,
    13,
  );
});

test('A worker that comes after a kill tells what it sends again', async () => {
  const url = await installedWebhook(home, target.url, {});
  await sendEvents(home, 10);
  const open = Promise.withResolvers<void>();
  let came = 0;
  target.before_answer = async () => {
    if ((came += 1) === 8) open.resolve();
    await new Promise(() => {});
  };
  run();
  await open.promise;
  // As a dead worker, it never hears of the answers: the lease goes to another.
  await harness.deps.db.run(sql`UPDATE plugin_cursors SET leased_by = NULL, leased_until = NULL`);
  target.before_answer = async () => {};
  run();
  await taken(10);
  const lines = await soon('the lines', async () => {
    const found = (await logLines(home, url)).filter((line) => line.includes('again at "Send"'));
    return found.length >= 8 ? found : undefined;
  });
  assert.match(
    lines[0]!,
    /^WARNING Sent the event .*: the answer to an earlier sending was lost\.$/,
  );
  assertTaken(uuids(), await stored());
});
