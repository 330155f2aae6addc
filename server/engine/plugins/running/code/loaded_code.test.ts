import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { erasing } from '../../../../../test/factories/events/erasures.ts';
import {
  assertTaken,
  enabledPlugin,
  logLines,
  sendEvents,
  storedEvents,
} from '../../../../../test/factories/plugins/running_plugins.ts';
import { workOneStep } from '../../../privacy/erasures/work.ts';
import {
  harness,
  home,
  openAroundTests,
  run,
  send,
  soon,
  stopAll,
  taken,
  target,
} from '../../../../../test/factories/plugins/plugin_runs.ts';

openAroundTests();

const stored = () => storedEvents(harness, home.project.id);
const sending =
  `${send} export const onEvent = (event, { config }) => post(config, { uuid: event.uuid, by: ` +
  'event.distinct_id });';
const enable = (code: string, allowed_hosts = ['127.0.0.1'], path = '') =>
  enabledPlugin(harness, home, 'pipeline_destinations', code, {
    config: { address: target.url + path },
    allowed_hosts,
  });

test('eight events are in progress at a time, and one of each person', async () => {
  await enable(sending);
  await sendEvents(home, 30);
  const open: string[] = [];
  let most = 0;
  const full = Promise.withResolvers<void>();
  target.before_answer = async ({ by }) => {
    open.push(by);
    most = Math.max(most, open.length);
    assert.equal(new Set(open).size, open.length, 'two events of one person are under way');
    if (open.length === 8) full.resolve();
    await full.promise;
    open.splice(open.indexOf(by), 1);
  };
  run();
  await taken(30);
  assert.equal(most, 8);
  assertTaken(
    target.taken.map(({ uuid }) => uuid),
    await stored(),
  );
});

test('a plugin that captures events has one event in progress at a time', async () => {
  const code = `${send} export const onEvent = async (event, { config }) => {
    await post(config, event.uuid);
    if (event.event === 'sent') await posthog.capture('seen', { n: event.properties.number });
  };`;
  await enable(code);
  await sendEvents(home, 10);
  let open = 0;
  target.before_answer = async () => {
    open += 1;
    assert.equal(open, 1);
    await new Promise(setImmediate);
    open -= 1;
  };
  run();
  await taken(20);
  assert.equal((await stored()).filter(({ event }) => event === 'seen').length, 10);
});

test('an event refused for now holds the place, and no later event comes twice', async () => {
  await enable(sending);
  await sendEvents(home, 20);
  const [first] = await stored();
  let tries = 0;
  target.answer = ({ uuid }) => {
    if (uuid !== first!.uuid) return undefined;
    tries += 1;
    return tries <= 2 ? 503 : undefined;
  };
  run();
  await taken(20);
  assert.equal(tries, 3);
  assertTaken(
    target.taken.map(({ uuid }) => uuid),
    await stored(),
  );
});

test('the place moves over finished events only: the others come again', async () => {
  await enable(sending);
  await sendEvents(home, 20);
  const [first] = await stored();
  const never = Promise.withResolvers<void>();
  target.before_answer = ({ uuid }) => (uuid === first!.uuid ? never.promise : Promise.resolve());
  run();
  // All but those of the first event's person, and the person waits.
  await taken(18);
  await stopAll();
  target.before_answer = async () => {};
  run();
  const all = await stored();
  await soon('all events', async () =>
    new Set(target.taken.map(({ uuid }) => uuid)).size === all.length ? true : undefined,
  );
  never.resolve();
});

test('an event that never ends is skipped with its file and line, others are not', async () => {
  const code = `${send}
    export async function onEvent(event, { config }) {
      if (event.properties.number === 5) {
        for (;;) ;
      }
      await post(config, event.uuid);
    }`;
  const { url } = await enable(code);
  await sendEvents(home, 12);
  run();
  await taken(11);
  const all = await stored();
  const looping = all.find(({ properties }) => JSON.parse(properties).number === 5)!;
  const lines = await soon('the log', async () => {
    const found = (await logLines(home, url)).join('\n');
    return found.includes('Set aside') ? found : undefined;
  });
  assert.match(
    lines,
    new RegExp(
      `ERROR Set aside the event ${looping.uuid} at "onEvent": .* ran for .*\\(index\\.ts:9:`,
    ),
  );
  assert.equal(lines.match(/Set aside/g)!.length, 1);
  // Those that were under way beside it are handed over once more.
  const others = all.map(({ uuid }) => uuid).filter((uuid) => uuid !== looping.uuid);
  await soon('all others', async () =>
    new Set(target.taken).size === others.length ? true : undefined,
  );
  assert.deepEqual([...new Set(target.taken)].sort(), others.sort());
});

const held_codes: Record<string, string> = {
  'onEvent throws on': sending,
  'onEvent throws something else': `${send} export const onEvent = async (event, { config }) => {
    try { await post(config, { uuid: event.uuid }); } catch { throw new Error('It did not work.'); }
  };`,
  composeWebhook:
    'export const composeWebhook = (event, { config }) => ({ url: config.address, body: { uuid: ' +
    'event.uuid } });',
  exportEvents:
    `${send} export const exportEvents = async (events, { config }) => { for (const { uuid } of ` +
    'events) await post(config, { uuid }); };',
  setupPlugin: `${send} export const setupPlugin = ({ config }) => post(config, null);
    export const onEvent = (event, { config }) => post(config, { uuid: event.uuid });`,
};
/** The config at `url` waits for its host, says so, and goes on with everything once it has it. */
async function assertHeld(
  name: string,
  { url, id }: { url: string; id: number },
  came: () => any[],
): Promise<void> {
  const read = async () => (await harness.request('GET', url, { key: home.key })).body;
  const sentence =
    'The plugin may not reach 127.0.0.1. Add it to the allowed_hosts of this config. Until ' +
    'then events wait, and none is lost.';
  await soon(`the reason: ${name}`, async () =>
    (await read()).error?.message === sentence ? true : undefined,
  );
  // Longer than it would take to be stopped for failures.
  const tries = async () =>
    (await harness.deps.db.row<{ updated_at: string }>(
      sql`SELECT updated_at FROM plugin_cursors WHERE plugin_config_id = ${id}`,
    ))!.updated_at;
  for (let round = 0, last = await tries(); round < 4; round += 1)
    last = await soon(`another try: ${name}`, async () => {
      const present = await tries();
      return present === last ? undefined : present;
    });
  const waiting = await read();
  assert.deepEqual([waiting.enabled, waiting.error.message], [true, sentence], name);
  assert.deepEqual(came(), [], name);
  const lines = await logLines(home, url);
  assert.equal(lines.filter((line) => line === `WARNING ${sentence}`).length, 1, name);
  assert.doesNotMatch(lines.join('\n'), /Set aside/, name);
  const body = { allowed_hosts: ['127.0.0.1'] };
  const changed = await harness.request('PATCH', url, { key: home.key, body });
  assert.deepEqual([changed.status, changed.body.error], [200, null], name);
  const arrived = () => came().flatMap((one) => (one === null ? [] : [one.uuid]));
  await soon(`all events: ${name}`, async () => (arrived().length >= 12 ? true : undefined));
  assertTaken(arrived(), await stored());
  await soon(`the end of the wait: ${name}`, async () =>
    (await read()).error === null ? true : undefined,
  );
}

test('without the host that it needs everything waits, and it says so', async () => {
  const came: { path: string; body: unknown }[] = [];
  target.answer = (body, path) => {
    came.push({ path, body });
    return undefined;
  };
  // Side by side: what each does most is to wait for its next try.
  const held: [name: string, config: { url: string; id: number }, path: string][] = [];
  for (const [name, code] of Object.entries(held_codes)) {
    const path = `/${held.length}`;
    held.push([name, await enable(code, ['example.com'], path), path]);
  }
  await sendEvents(home, 12);
  run();
  await Promise.all(
    held.map(([name, config, path]) =>
      assertHeld(name, config, () =>
        came.filter((one) => one.path === path).map(({ body }) => body),
      ),
    ),
  );
});

test('a host that an event alone names holds nothing up', async () => {
  const code = `${send} export const onEvent = async (event, { config }) => {
    if (event.properties.number > 5) await fetch('http://' + event.event + '/x');
    await post(config, { uuid: event.uuid });
  };`;
  const { url } = await enable(code);
  await sendEvents(home, 8, 'hostile.somewhere');
  run();
  await taken(6);
  const lines = await soon('the log', async () => {
    const found = (await logLines(home, url)).join('\n');
    return (found.match(/Set aside/g) ?? []).length === 2 ? found : undefined;
  });
  assert.match(lines, /WARNING The plugin asked for hostile\.somewhere, which is not among/);
});

test('an erased event is not handed over, and the erasure waits for open calls', async () => {
  const { ask, work } = erasing(() => ({ harness }));
  await enable(sending);
  await sendEvents(home, 30);
  const open: string[] = [];
  const full = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  target.before_answer = async ({ by }) => {
    if (open.push(by) === 8) full.resolve();
    await held.promise;
  };
  run();
  await full.promise;
  const before = open.filter((by) => by === 'person-0').length;
  const { body } = await ask(home, 'POST', 'erasures/', { distinct_ids: ['person-0'] });
  await work(home, body.id, 'settle');
  const asked = async () => (await ask(home, 'GET', `erasures/${body.id}/`)).body;
  await harness.deps.db.run(sql`UPDATE erasures SET due_at = '2026-01-01Z'
    WHERE id = ${body.id}`);
  await workOneStep(harness.deps.engine, new AbortController().signal, 0);
  assert.match((await asked()).detail, /plugins that still hold these rows/);
  held.resolve();
  await taken(27 + before);
  await stopAll();
  // A call that was held for longer than a request may take is made again.
  const arrived = new Map(target.taken.map(({ uuid, by }) => [uuid, by]));
  assert.equal(arrived.size, 27 + before);
  assert.equal([...arrived.values()].filter((by) => by === 'person-0').length, before);
  await work(home, body.id);
});
