import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sendEvents, storedEvents } from '../../../../test/factories/plugins/running_plugins.ts';
import { enabledWebhook } from '../../../../test/factories/plugins/webhook_tool.ts';
import {
  harness,
  home,
  openAroundTests,
  run,
  soon,
  stopAll,
  taken,
  target,
} from '../../../../test/factories/plugins/plugin_runs.ts';

openAroundTests();

const stored = () => storedEvents(harness, home.project.id);
const read = async (path: string) => (await home.ask('GET', path)).body;
const uuids = () => target.taken.map(({ messageId }) => messageId);

/** The replay, as soon as it is in the state. */
const inState = (url: string, id: string, state: string) =>
  soon(`the state ${state}`, async () => {
    const replay = await read(`${url}replays/${id}/`);
    return replay.state === state ? replay : undefined;
  });

test('A range is counted first, then sent beside the live events, by name', async () => {
  await sendEvents(home, 30);
  await sendEvents(home, 4, 'other');
  const url = await enabledWebhook(home, target.url);
  const wanted = { source: 'events', events: ['sent'], rate: 1_000 };
  const dry = await home.ask('POST', `${url}replays/`, { ...wanted, dry_run: true });
  assert.equal(dry.status, 200, dry.text);
  assert.deepEqual([dry.body.state, dry.body.total, dry.body.id], ['DryRun', 30, null]);
  assert.equal((await read(`${url}replays/`)).count, 0);
  const begun = await home.ask('POST', `${url}replays/`, wanted);
  assert.equal(begun.status, 200, begun.text);
  run();
  const ended = await inState(url, begun.body.id, 'Completed');
  assert.deepEqual([ended.done, ended.total], [30, 30]);
  await sendEvents(home, 1, 'live');
  await taken(31);
  await stopAll();
  const events = await stored();
  const wantedUuids = events.filter(({ event }) => event !== 'other').map(({ uuid }) => uuid);
  assert.deepEqual(new Set(uuids()), new Set(wantedUuids));
  const { results } = await read(`${url}sends/?event_uuid=${events[0]!.uuid}`);
  assert.equal(results[0].is_replay, true);
});

test('What was set aside is listed by a filter, sent again, or discarded', async () => {
  const url = await enabledWebhook(home, target.url);
  target.answer = ({ properties }) => (properties.number < 3 ? 422 : 400);
  await sendEvents(home, 5);
  run();
  await soon('five set aside', async () =>
    (await read(`${url}set_aside/`)).count === 5 ? true : undefined,
  );
  const { results } = await read(`${url}set_aside/?status=422`);
  assert.equal(results.length, 3);
  const record = await read(`${url}set_aside/${results[0].id}/`);
  assert.equal(record.exchanges[0].answer.status, 422);
  assert.equal(JSON.parse(record.exchanges[0].request.body.text).messageId, record.event_uuid);
  assert.equal((await read(`${url}set_aside/?event=nothing`)).count, 0);
  assert.equal((await read(`${url}set_aside/?mapping=Send&reason=(400)`)).count, 2);
  const discard = (body: object) => home.ask('POST', `${url}set_aside/discard/`, body);
  assert.equal((await discard({ status: 400, dry_run: true })).body.discarded, 2);
  assert.equal((await discard({ status: 400 })).body.discarded, 2);
  target.answer = () => undefined;
  const one = results[0].event_uuid;
  const again = (more: object) =>
    home.ask('POST', `${url}replays/`, { source: 'set_aside', ...more });
  const first = await again({ event_uuid: one });
  await inState(url, first.body.id, 'Completed');
  assert.deepEqual(uuids(), [one]);
  const rest = await again({});
  assert.equal(rest.body.total, 2);
  await inState(url, rest.body.id, 'Completed');
  assert.equal((await read(`${url}set_aside/`)).count, 0);
  assert.equal(new Set(uuids()).size, 3);
});

test('A replay waits while the tool takes nothing, continues, and can be cancelled', async () => {
  await sendEvents(home, 8);
  const url = await enabledWebhook(home, target.url);
  target.answer = () => 401;
  const begun = await home.ask('POST', `${url}replays/`, { source: 'events' });
  run();
  const waiting = await inState(url, begun.body.id, 'Waiting');
  assert.equal(waiting.done, 0);
  assert.match(waiting.detail, /does not accept the settings/);
  target.answer = () => undefined;
  const ended = await inState(url, begun.body.id, 'Completed');
  assert.equal(ended.done, 8);
  assert.deepEqual(new Set(uuids()).size, 8);
  target.answer = () => 503;
  const other = await home.ask('POST', `${url}replays/`, { source: 'events' });
  const cancelled = await home.ask('POST', `${url}replays/${other.body.id}/cancel/`);
  assert.equal(cancelled.body.state, 'Cancelled');
  const twice = await home.ask('POST', `${url}replays/${other.body.id}/cancel/`);
  assert.equal(twice.status, 409, twice.text);
});

test('Wrong ranges and filters are refused', async () => {
  const url = await enabledWebhook(home, target.url);
  const start = (body: object) => home.ask('POST', `${url}replays/`, body);
  const [early, late] = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'];
  for (const [body, attr] of [
    [{}, 'source'],
    [{ source: 'events', start_at: late, end_at: early }, 'start_at'],
    [{ source: 'events', end_at: '2999-01-01T00:00:00Z' }, 'end_at'],
    [{ source: 'events', mapping: 'Send' }, 'mapping'],
    [{ source: 'set_aside', rate: 0 }, 'rate'],
  ] as const) {
    const refused = await start(body);
    assert.deepEqual([refused.status, refused.body.attr], [400, attr], refused.text);
  }
  const member = await harness.newMember(home.organization.id, 1);
  const { status } = await member.ask('POST', `${url}replays/`, { source: 'events' });
  assert.equal(status, 403);
});

test('A replay from the beginning ends where live events begin', async () => {
  await sendEvents(home, 3);
  const url = await enabledWebhook(home, target.url);
  await sendEvents(home, 2, 'live');
  run();
  await taken(2);
  const begun = await home.ask('POST', `${url}replays/`, { source: 'events' });
  assert.equal(begun.body.total, 3, begun.text);
  await inState(url, begun.body.id, 'Completed');
  await stopAll();
  const events = await stored();
  assert.deepEqual(uuids().toSorted(), events.map(({ uuid }) => uuid).toSorted());
  const count = async (range: object) => {
    const dry = await home.ask('POST', `${url}replays/`, {
      source: 'events',
      dry_run: true,
      ...range,
    });
    assert.equal(dry.status, 200, dry.text);
    return dry.body.total;
  };
  // A range that begins later goes on until now, and a given end holds.
  assert.equal(await count({ start_at: begun.body.end_at }), 2);
  assert.equal(await count({ end_at: new Date().toISOString() }), 5);
  // While it is off, no event comes live.
  await home.ask('PATCH', url, { enabled: false });
  assert.equal(await count({}), 5);
});
