import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { inDepth } from '../../../../test/depth.ts';
import {
  assertTaken,
  enabledPlugin,
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

openAroundTests();

test('the next call has changed settings and code, but no code of the database', async () => {
  const code = (word: string) =>
    `${send} export const onEvent = (event, { config }) => post(config, ['${word}', ` +
    'config.secret ?? null, event.uuid]);';
  const { url, plugin, id } = await enabledPlugin(
    harness,
    home,
    'pipeline_destinations',
    code('old'),
    { config: { address: target.url } },
  );
  run();
  const kinds = () => target.taken.map(([word, secret]) => `${word} ${secret}`);
  await sendEvents(home, 1);
  await taken(1);
  await harness.request('PATCH', url, { key: home.key, body: { config: { secret: 'changed' } } });
  await sendEvents(home, 1);
  await taken(2);
  await harness.request('PATCH', `${plugin}update_source/`, {
    key: home.key,
    body: { source: { 'index.ts': code('new') } },
  });
  await sendEvents(home, 1);
  await taken(3);
  assert.deepEqual(kinds(), ['old null', 'old changed', 'new changed']);
  await harness.deps.db.run(sql`
    UPDATE plugin_versions SET code = replace(code::text, 'new', 'bad')::json
      WHERE id = (SELECT version_id FROM plugins p JOIN plugin_configs c ON c.plugin_id = p.id
      WHERE c.id = ${id})`);
  await harness.deps.db.run(sql`UPDATE plugin_configs SET updated_at = now() WHERE id = ${id}`);
  await sendEvents(home, 1);
  const config = await stopped(url);
  assert.match(config.error.message, /The stored code differs from the installed code/);
  assert.equal(target.taken.length, 3);
});

test("two workers: each event is handed over once, each config is in one's hands", async () => {
  const code = `${send} export const onEvent = (event, { config }) => post(config, event.uuid);`;
  await enabledPlugin(harness, home, 'pipeline_destinations', code, {
    config: { address: target.url },
  });
  // Both give it back as soon as there is nothing to do, so that it goes from hand to hand.
  run(0);
  run(0);
  for (let round = 0; round < inDepth(3, 5); round += 1) {
    await sendEvents(home, 20);
    await taken((round + 1) * 20);
  }
  assertTaken(target.taken, await storedEvents(harness, home.project.id));
});

test('kill -9 of the sandbox: nothing is lost, at most one batch comes twice', async () => {
  const code =
    `${send} export const exportEvents = (events, { config }) => post(config, events.map(({ ` +
    'uuid }) => uuid));';
  await enabledPlugin(harness, home, 'pipeline_destinations', code, {
    config: { address: target.url },
  });
  let kills = 0;
  target.answer = () => {
    if (target.taken.length === 2 * (kills + 1)) {
      kills += 1;
      process.kill(harness.deps.sandbox.pid!, 'SIGKILL');
    }
    return undefined;
  };
  for (let sent = 0; sent < inDepth(2, 5); sent += 1) await sendEvents(home, 1_000);
  run();
  const expected = (await storedEvents(harness, home.project.id)).map(({ uuid }) => uuid);
  await soon('all events', async () =>
    new Set(target.taken.flat()).size === expected.length ? true : undefined,
  );
  assert.ok(kills >= inDepth(1, 2));
  const distinct = target.taken.filter(
    (batch, index) => JSON.stringify(batch) !== JSON.stringify(target.taken[index - 1]),
  );
  assert.deepEqual(distinct.flat(), expected);
  assert.ok(target.taken.length - distinct.length <= kills);
});
