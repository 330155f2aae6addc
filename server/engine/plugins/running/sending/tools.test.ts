import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import {
  assertTaken,
  logLines,
  sendEvents,
  storedEvents,
} from '../../../../../test/factories/plugins/running_plugins.ts';
import { enabledWebhook } from '../../../../../test/factories/plugins/webhook_tool.ts';
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

openAroundTests();

const webhook = (more: Parameters<typeof enabledWebhook>[2] = {}) =>
  enabledWebhook(home, target.url, more);

const uuids = () => target.taken.map(({ messageId }) => messageId);
const stored = () => storedEvents(harness, home.project.id);
const read = async (path: string) => (await home.ask('GET', path)).body;

/** The counts of the tool, by name. */
async function counted(url: string): Promise<Record<string, number>> {
  const { results } = await read(`${url}metrics/`);
  return Object.fromEntries(
    results.map(({ name, value }: { name: string; value: number }) => [name, value]),
  );
}

test('A tool gets each event once, in the order of each person, and the filter holds', async () => {
  const url = await webhook({ subscribe: 'type = "track" and event = "sent"' });
  await sendEvents(home, 5, 'other');
  await sendEvents(home, 120);
  run();
  await taken(120);
  await stopAll();
  const wanted = (await stored()).filter(({ event }) => event === 'sent');
  assertTaken(uuids(), wanted);
  // All came in one request, with uuids by chance: the order is that of the request.
  const numbers = wanted.map(({ properties }) => JSON.parse(properties).number);
  assert.deepEqual(numbers, [...numbers.keys()]);
  assert.deepEqual(await counted(url), { delivered: 120 });
  const { delivered_until, failures, retry_at, set_aside } = await read(`${url}delivery/`);
  assert.deepEqual([failures, retry_at, set_aside], [0, null, 0]);
  assert.ok(delivered_until !== null);
  assert.doesNotMatch((await logLines(home, url)).join('\n'), /hidden-from-all/);
});

test('A refused event is set aside with its reason, and sent again when asked for', async () => {
  const url = await webhook();
  target.answer = ({ properties }) => (properties.number === 3 ? 422 : undefined);
  await sendEvents(home, 9);
  run();
  await taken(8);
  const refused = (await stored()).find(({ properties }) => JSON.parse(properties).number === 3)!;
  const { results } = await soon('the refused event', async () => {
    const list = await read(`${url}set_aside/`);
    return list.count === 1 ? list : undefined;
  });
  const { event_uuid, mapping, status, attempts, distinct_id } = results[0];
  assert.deepEqual(
    [event_uuid, mapping, status, attempts, distinct_id],
    [refused.uuid, 'Send', 422, 1, refused.distinct_id],
  );
  assert.equal((await read(url)).enabled, true);
  const resend = () => home.ask('POST', `${url}replays/`, { source: 'set_aside' });
  await resend();
  await soon('another attempt', async () =>
    (await read(`${url}set_aside/`)).results[0].attempts === 2 ? true : undefined,
  );
  target.answer = () => undefined;
  await resend();
  await taken(9);
  await soon('an empty list', async () =>
    (await read(`${url}set_aside/`)).count === 0 ? true : undefined,
  );
  assert.equal(uuids().at(-1), refused.uuid);
});

test('A tool that does not answer is tried again, more often than a plugin is', async () => {
  const url = await webhook();
  let failed = 0;
  // At most ten side by side, one of each person; then three in a turn.
  target.answer = () => ((failed += 1) <= 20 ? 503 : undefined);
  await sendEvents(home, 20);
  run();
  await taken(20);
  await stopAll();
  assertTaken(uuids(), await stored());
  assert.equal((await read(`${url}set_aside/`)).count, 0);
  assert.match((await logLines(home, url)).join('\n'), /retries in .* s \(failure 3 in a row\)/);
});

test('An event that always fails holds back its person, and is set aside in the end', async () => {
  const url = await webhook();
  target.answer = ({ properties }) => (properties.number === 0 ? 500 : undefined);
  await sendEvents(home, 30);
  run(1, 0.002);
  // All but those of the failing one's person.
  await taken(27);
  const send = () =>
    home.ask('POST', `/api/projects/${home.project.id}/events/`, {
      events: [{ event: 'later', distinct_id: 'another', properties: { number: 1 } }],
    });
  // It is given up only while the tool takes events of others.
  const failing = await soon('the failing event', async () => {
    await send();
    const list = await read(`${url}set_aside/`);
    return list.count === 1 ? list : undefined;
  });
  const events = await stored();
  const wanted = events.filter(({ properties }) => JSON.parse(properties).number !== 0);
  await taken(wanted.length);
  await stopAll();
  assertTaken(uuids(), wanted);
  assert.deepEqual([failing.results[0].status, failing.results[0].distinct_id], [500, 'person-0']);
  const kept = await harness.deps.db.rows(sql`SELECT 1 FROM plugin_waiting`);
  assert.deepEqual(kept, []);
});

test('A tool that does not accept the settings waits, says so, and loses nothing', async () => {
  const url = await webhook();
  target.answer = () => 401;
  await sendEvents(home, 5);
  run();
  const { error, enabled } = await soon('the hold', async () => {
    const config = await read(url);
    return config.error === null ? undefined : config;
  });
  assert.equal(enabled, true);
  assert.match(error.message, /^The tool does not accept the settings: .*none is lost\.$/);
  target.answer = () => undefined;
  const changed = await home.ask('PATCH', url, { config: { sharedSecret: 'the right one' } });
  assert.equal(changed.status, 200, changed.text);
  await taken(5);
  assertTaken(uuids(), await stored());
});

test('A tool reaches allowed hosts alone, and waits for one that its mapping names', async () => {
  const url = await webhook({ allowed_hosts: [] });
  await sendEvents(home, 3);
  run();
  const { error } = await soon('the hold', async () => {
    const config = await read(url);
    return config.error === null ? undefined : config;
  });
  assert.match(error.message, /may not reach 127\.0\.0\.1/);
  assert.deepEqual(target.taken, []);
  const changed = await home.ask('PATCH', url, {
    allowed_hosts: ['127.0.0.1'],
    config: { sharedSecret: 'hidden-from-all' },
  });
  assert.equal(changed.status, 200, changed.text);
  await taken(3);
});

test('A mapping that lacks what its action requires is refused at its field', async () => {
  const url = await webhook();
  const mapping = { name: 'Send', partnerAction: 'send', subscribe: 'type = "track"', mapping: {} };
  const refused = await home.ask('PATCH', url, {
    config: { mappings: JSON.stringify([mapping]), sharedSecret: 'hidden-from-all' },
  });
  assert.deepEqual(
    [refused.status, refused.body.attr, refused.body.detail],
    [400, 'config__mappings', 'Mapping 1 lacks URL (url), Method (method).'],
  );
});

test('Of two mappings only the one that failed is sent again', async () => {
  const mapping = (path: string) => ({
    name: path,
    partnerAction: 'send',
    subscribe: 'type = "track"',
    mapping: { url: `${target.url}/${path}`, method: 'POST', data: { '@path': '$.' } },
  });
  await webhook({ mappings: [mapping('one'), mapping('two')] });
  const asked: string[] = [];
  let failed = false;
  target.answer = (_body, path) => {
    asked.push(path);
    if (path !== '/two' || failed) return undefined;
    failed = true;
    return 503;
  };
  await sendEvents(home, 1);
  run();
  await taken(2);
  await stopAll();
  assert.deepEqual(asked, ['/one', '/two', '/two']);
});
