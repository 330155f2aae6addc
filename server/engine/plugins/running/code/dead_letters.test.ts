import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { listenLocally } from '../../../../../test/servers/loopback.ts';
import {
  assertTaken,
  enabledPlugin,
  logLines,
  sendEvents,
  storedEvents,
} from '../../../../../test/factories/plugins/running_plugins.ts';
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
const read = async (path: string) => (await home.ask('GET', path)).body;
const enable = (code: string) =>
  enabledPlugin(harness, home, 'pipeline_destinations', code, {
    config: { address: target.url, secret: 'hidden-from-all' },
  });
const sending = `${send} export const onEvent = (event, { config }) =>
  post(config, { uuid: event.uuid, number: event.properties.number, secret: config.secret });`;
const asideOf = (url: string, count: number) =>
  soon(`${count} set aside`, async () => {
    const list = await read(`${url}set_aside/`);
    return list.count === count ? list.results : undefined;
  });

test('what the code refuses is set aside, nothing stops, and it is sent again', async () => {
  const { url } = await enable(sending);
  target.answer = () => 400;
  await sendEvents(home, 6);
  run();
  const [aside] = await asideOf(url, 6);
  assert.deepEqual([aside.mapping, aside.status, aside.attempts], ['onEvent', 400, 1]);
  assert.match(aside.reason, /^refused 400 \(index\.ts:\d+:\d+\)$/);
  const config = await read(url);
  assert.deepEqual([config.enabled, config.error], [true, null]);
  target.answer = () => undefined;
  const begun = await home.ask('POST', `${url}replays/`, { source: 'set_aside' });
  assert.equal(begun.status, 200, begun.text);
  await asideOf(url, 0);
  assertTaken(
    target.taken.map(({ uuid }) => uuid),
    await stored(),
  );
  await sendEvents(home, 1);
  await taken(7);
});

test('an attempt has its request and answer, without the secret', async () => {
  const { url } = await enable(sending);
  target.answer = ({ number }) => (number === 1 ? 422 : undefined);
  await sendEvents(home, 1);
  run();
  await taken(1);
  await sendEvents(home, 2);
  const [aside] = await asideOf(url, 1);
  const record = await read(`${url}set_aside/${aside.id}/`);
  const { results } = await read(`${url}sends/?event_uuid=${(await stored())[0]!.uuid}`);
  const [{ outcome, status, mapping, exchanges }] = results;
  assert.deepEqual([outcome, status, mapping], ['sent', 200, 'onEvent']);
  assert.equal(exchanges[0].request.method, 'POST');
  assert.match(exchanges[0].request.body.text, /"number":0,"secret":"\*{8}"/);
  assert.deepEqual(record.exchanges[0].answer.status, 422);
  const { results: points } = await read(`${url}delivery/metrics/`);
  assert.deepEqual(
    [points.at(-1).delivered, points.at(-1).set_aside].map((count) => count > 0),
    [true, true],
  );
  const { records: found } = await read(
    `/api/projects/${home.project.id}/find/?uuid=${aside.event_uuid}`,
  );
  assert.deepEqual(
    found[0].tools.map(({ state }: { state: string }) => state),
    ['set_aside'],
  );
});

test('an event beside others in progress shows no body of another person', async () => {
  const { url } = await enable(sending);
  await sendEvents(home, 10);
  const full = Promise.withResolvers<void>();
  let open = 0;
  target.before_answer = async () => {
    open += 1;
    if (open === 8) full.resolve();
    await full.promise;
  };
  run();
  await taken(10);
  const uuids = (await stored()).map(({ uuid }) => uuid);
  const sends = async (uuid: string) => (await read(`${url}sends/?event_uuid=${uuid}`)).results;
  const texts: string[] = [];
  for (const uuid of uuids) {
    const [one] = await soon('the trace', async () => {
      const found = await sends(uuid);
      return found.length > 0 ? found : undefined;
    });
    assert.equal(one.status, 200);
    const [{ request }] = one.exchanges;
    if (request.url.endsWith('/...')) texts.push(request.body.text);
    else assert.ok(request.body.text.includes(uuid));
  }
  assert.ok(texts.length >= 7, String(texts.length));
  for (const text of texts) assert.match(text, /^\(not kept: calls of the plugin for other/);
});

test('a receiver that is away stops nothing: tasks run, and a notice tells', async () => {
  const code = `${sending}
    export const runEveryMinute = ({ storage }) => storage.set('ran', true);`;
  const { url, id } = await enable(code);
  target.answer = () => 503;
  await sendEvents(home, 3);
  run(1, 0.01);
  // Five are more than stop a plugin whose tasks fail.
  const delivery = await soon('failures', async () => {
    const found = await read(`${url}delivery/`);
    return found.failures >= 5 ? found : undefined;
  });
  assert.equal(delivery.set_aside, 0);
  assert.equal((await read(url)).enabled, true);
  const ran = await harness.deps.db.rows(
    sql`SELECT 1 FROM plugin_storage WHERE plugin_config_id = ${id} AND key = 'ran'`,
  );
  assert.equal(ran.length, 1);
  await soon('the notice', () =>
    harness.deps.db.row(
      sql`SELECT 1 FROM notices WHERE plugin_config_id = ${id} AND event = 'failing'`,
    ),
  );
  target.answer = () => undefined;
  await taken(3);
  assertTaken(
    target.taken.map(({ uuid }) => uuid),
    await stored(),
  );
});

test('a 429 is no fault of the event, and its Retry-After is obeyed', async () => {
  const asked: number[] = [];
  const server = createServer((request, response) => {
    request.resume();
    asked.push(performance.now());
    if (asked.length === 1) response.writeHead(429, { 'retry-after': '2' }).end();
    else response.writeHead(200).end();
  });
  const { port, close } = await listenLocally(server);
  try {
    const { url } = await enabledPlugin(harness, home, 'pipeline_destinations', sending, {
      config: { address: `http://127.0.0.1:${port}` },
    });
    await sendEvents(home, 1);
    run();
    await soon('two requests', async () => (asked.length === 2 ? true : undefined));
    // Half a second of a busy machine is not what it waits for.
    assert.ok(asked[1]! - asked[0]! > 1_900, String(asked[1]! - asked[0]!));
    assert.equal((await read(`${url}set_aside/`)).count, 0);
  } finally {
    await close();
  }
});

test('an event_choice keeps events out, and a wrong one is refused', async () => {
  const { url } = await enable(sending);
  const choose = (event_choice: unknown) => home.ask('PATCH', url, { event_choice });
  const wrong = await choose({ subscribe: 'type = "nothing"' });
  assert.deepEqual([wrong.status, wrong.body.attr], [400, 'event_choice__subscribe']);
  const event_choice = { subscribe: 'event = "wanted"' };
  assert.deepEqual((await choose(event_choice)).body.event_choice, event_choice);
  await sendEvents(home, 3);
  await sendEvents(home, 2, 'wanted');
  run();
  await taken(2);
  assert.equal((await choose(null)).body.event_choice, null);
  await sendEvents(home, 1);
  await taken(3);
  const { results } = (
    await home.ask('POST', `/api/projects/${home.project.id}/plugin_configs/preview/`, {
      plugin: (await read(url)).plugin,
      mappings: [{ partnerAction: 'event', mapping: {}, ...event_choice }],
      event: { event: 'other', distinct_id: 'ada' },
    })
  ).body;
  assert.equal(results[0].outcome, 'filtered');
});

test('a batch with one bad event is divided, and only that one is set aside', async () => {
  const code = `${send} export const exportEvents = (events, { config }) =>
    post(config, events.map(({ uuid, properties }) => ({ uuid, number: properties.number })));`;
  const { url } = await enable(code);
  target.answer = (batch) =>
    batch.some(({ number }: { number: number }) => number === 33) ? 400 : undefined;
  await sendEvents(home, 60);
  run();
  const [aside] = await asideOf(url, 1);
  await soon('the others', async () => (target.taken.flat().length >= 59 ? true : undefined));
  await stopAll();
  const wanted = (await stored()).filter(({ uuid }) => uuid !== aside.event_uuid);
  assertTaken(
    target.taken.flat().map(({ uuid }) => uuid),
    wanted,
  );
  assert.equal((await logLines(home, url)).filter((line) => /Set aside/.test(line)).length, 1);
});
