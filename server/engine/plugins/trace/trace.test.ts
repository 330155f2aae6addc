import assert from 'node:assert/strict';
import { test } from 'node:test';
import { erasing } from '../../../../test/factories/events/erasures.ts';
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

const secretUrl = () => `${target.url}/in?api_key=in-the-address&kept=1`;
const mappings = () => [
  {
    name: 'Send',
    partnerAction: 'send',
    subscribe: 'type = "track"',
    mapping: {
      url: secretUrl(),
      method: 'POST',
      headers: { 'x-api-key': 'in-a-header', 'x-shown': 'shown' },
      data: { body: { '@path': '$.' }, said: 'hidden-from-all' },
    },
  },
];

test('A sent event is in the trace with request and answer, and without a secret', async () => {
  const url = await enabledWebhook(home, target.url, { mappings: mappings() });
  await sendEvents(home, 3);
  run();
  await taken(3);
  await stopAll();
  const { uuid } = (await stored())[0]!;
  const { is_stored, results } = await read(`${url}sends/?event_uuid=${uuid}`);
  assert.equal(is_stored, true);
  assert.equal(results.length, 1);
  const [{ exchanges, mapping, outcome, status, reason, is_replay }] = results;
  assert.deepEqual(
    [mapping, outcome, status, reason, is_replay],
    ['Send', 'sent', 200, null, false],
  );
  const [{ request, answer }] = exchanges;
  assert.equal(request.method, 'POST');
  assert.match(request.url, /api_key=\*{8}&kept=1$/);
  assert.deepEqual(
    request.header_fields.filter(({ name }: { name: string }) => /^x-(?:api|shown)/.test(name)),
    [
      { name: 'x-api-key', value: '********' },
      { name: 'x-shown', value: 'shown' },
    ],
  );
  assert.equal(JSON.parse(request.body.text).body.messageId, uuid);
  assert.equal(JSON.parse(request.body.text).said, '********');
  assert.equal(answer.status, 200);
  assert.doesNotMatch(JSON.stringify(exchanges), /hidden-from-all|in-the-address|in-a-header/);
});

test('Attempts that failed are in the trace too, the newest first', async () => {
  const url = await enabledWebhook(home, target.url);
  let asked = 0;
  target.answer = () => ((asked += 1) === 1 ? 503 : undefined);
  await sendEvents(home, 1);
  run();
  await taken(1);
  await stopAll();
  const { uuid } = (await stored())[0]!;
  const { results } = await read(`${url}sends/?event_uuid=${uuid}`);
  assert.deepEqual(
    results.map(({ outcome, status }: { outcome: string; status: number }) => [outcome, status]),
    [
      ['sent', 200],
      ['retry', 503],
    ],
  );
});

test('Points count attempts and delays', async () => {
  const url = await enabledWebhook(home, target.url);
  target.answer = ({ properties }) => (properties.number === 1 ? 400 : undefined);
  await sendEvents(home, 4);
  run();
  await taken(3);
  await soon('the refused one', async () =>
    (await read(`${url}set_aside/`)).count === 1 ? true : undefined,
  );
  await stopAll();
  const { results } = await read(`${url}delivery/metrics/?interval=day`);
  assert.equal(results.length, 1);
  const [{ delivered, set_aside, retried, per_second, delay_seconds, delay_seconds_max }] = results;
  assert.deepEqual([delivered, set_aside, retried], [3, 1, 0]);
  assert.equal(per_second, 3 / 86_400);
  assert.ok(delay_seconds > 0 && delay_seconds <= delay_seconds_max);
  const exposed = await harness.deps.metrics.registry.metrics();
  assert.match(exposed, /sluice_tool_events_total\{tool="webhook",outcome="delivered"\} \d/);
});

test('find says which tools got an event', async () => {
  await enabledWebhook(home, target.url, { subscribe: 'event = "sent"' });
  await sendEvents(home, 1);
  await sendEvents(home, 1, 'other');
  run();
  await taken(1);
  await stopAll();
  const events = await stored();
  const find = async (name: string) => {
    const { uuid } = events.find(({ event }) => event === name)!;
    const { records } = await read(`/api/projects/${home.project.id}/find/?uuid=${uuid}`);
    const [{ name: tool, state, sends }] = records[0].tools;
    return [tool, state, sends.map(({ outcome }: { outcome: string }) => outcome)];
  };
  assert.deepEqual(await find('sent'), ['Webhook', 'sent', ['sent']]);
  const [, state] = await find('other');
  assert.ok(state === 'not_sent' || state === 'waiting', state);
});

test('An erasure takes an event out of the trace, and leaves those of others', async () => {
  const url = await enabledWebhook(home, target.url);
  await sendEvents(home, 2);
  run();
  await taken(2);
  await stopAll();
  const [gone, kept] = await stored();
  const { ask, work } = erasing(() => ({ harness }));
  const { body } = await ask(home, 'POST', 'erasures/', { distinct_ids: [gone!.distinct_id] });
  // The tool is told of it later.
  await work(home, body.id, 'certify');
  const rows = await harness.deps.clickhouse.rows<{ event_uuid: string; is_kept: number }>({
    query: `SELECT event_uuid, exchange_id IN (SELECT id FROM tool_exchanges) AS is_kept
      FROM tool_sends WHERE team_id = {team_id:Int64}`,
    query_params: { team_id: home.project.id },
  });
  assert.deepEqual(
    rows.map((row) => [row.event_uuid, Number(row.is_kept)]),
    [[kept!.uuid, 1]],
  );
  assert.equal((await read(`${url}sends/?event_uuid=${gone!.uuid}`)).is_stored, false);
});
