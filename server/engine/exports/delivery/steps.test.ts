import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import type { AttemptSteps } from '../../model/run.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import { openHttpReceiver } from '../../../../test/servers/http_receiver.ts';
import { aroundTests } from '../../../../test/around_tests.ts';

const exporting = aroundTests(openQueryHarness);
const receiver = aroundTests(() => openHttpReceiver({}));

const refusal = { status: 503, headers: { 'retry-after': '0' } };
const sumOf = ({ counted_ms, read_ms, sent_ms, committed_ms }: AttemptSteps) =>
  counted_ms! + read_ms! + sent_ms! + committed_ms!;

test('each attempt tells its steps, and how far it came', async () => {
  const home = await exporting.harness.newOrganization();
  const { id, get } = await exporting.scheduled(home, {
    destination: {
      type: 'HTTP',
      config: { url: `${receiver.url}/steps`, include_events: ['one'] },
    },
  });
  await exporting.insert(home, [
    { event: 'one', at: '2026-01-01T00:10:00Z' },
    { event: 'another', at: '2026-01-01T01:10:00Z' },
  ]);
  const stepsOf = async (run_id: string): Promise<AttemptSteps[]> =>
    (await get(`runs/${run_id}/`)).body.steps;
  const [planned] = await exporting.plan(id);
  assert.deepEqual(await stepsOf(planned!.id), []);
  // As often as one attempt asks.
  receiver.plan(...Array.from({ length: 5 }, () => refusal));
  const [failed, empty] = await exporting.runAll(id);
  assert.equal(failed!.status, 'Running', failed!.latest_error ?? '');
  const [first, ...none] = await stepsOf(failed!.id);
  assert.deepEqual(none, []);
  assert.deepEqual([first!.attempt, first!.committed_ms], [1, null]);
  assert.ok(first!.counted_ms! > 0 && first!.read_ms! > 0 && first!.sent_ms! >= 0);
  // A worker looked at it and found nothing to read or send.
  const [quick] = await stepsOf(empty!.id);
  assert.deepEqual([quick!.read_ms, quick!.sent_ms], [null, null]);
  assert.ok(quick!.committed_ms! >= 0);

  // As if the worker had not been heard of for a minute.
  await exporting.harness.deps.db.run(sql`UPDATE batch_export_runs
    SET last_updated_at = last_updated_at - interval '1 minute' WHERE id = ${failed!.id}`);
  const began = performance.now();
  await exporting.runAll(id);
  const took = performance.now() - began;
  const [again, second, ...more] = await stepsOf(failed!.id);
  assert.deepEqual([again, more], [first, []]);
  assert.equal(second!.attempt, 2);
  assert.ok(second!.waited_ms >= 60_000 && second!.waited_ms < 120_000 + took);
  // Rounded each.
  assert.ok(sumOf(second!) > 0 && sumOf(second!) <= took + 2, `${JSON.stringify(second)} ${took}`);
  assert.ok(Date.parse(second!.began_at) > Date.parse(first!.began_at));
});

test('the log keeps the steps of the latest twenty attempts', async () => {
  const home = await exporting.harness.newOrganization();
  const { id, get } = await exporting.scheduled(home, {
    destination: { type: 'HTTP', config: { url: `${receiver.url}/often` } },
  });
  await exporting.insert(home, [{ event: 'one', at: '2026-01-01T00:10:00Z' }]);
  const [planned] = await exporting.plan(id);
  const attempts = Array.from({ length: 20 }, (_, index) => ({
    attempt: index + 11,
    began_at: '2026-01-01T00:00:00.000000Z',
    waited_ms: index,
    counted_ms: 1,
    read_ms: 1,
    sent_ms: 1,
    committed_ms: null,
  }));
  await exporting.harness.deps.db.run(sql`UPDATE batch_export_runs
    SET attempt = 30, steps = ${JSON.stringify(attempts)} WHERE id = ${planned!.id}`);
  await exporting.runAll(id);
  const { steps } = (await get(`runs/${planned!.id}/`)).body;
  assert.deepEqual(
    steps.map(({ attempt }: AttemptSteps) => attempt),
    Array.from({ length: 20 }, (_, index) => index + 12),
  );
});
