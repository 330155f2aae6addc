import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import { openHttpReceiver } from '../../../../test/servers/http_receiver.ts';
import { claimRun } from '../workers/claims.ts';
import { executeRun } from './execute.ts';
import { aroundTests } from '../../../../test/around_tests.ts';

const exporting = aroundTests(openQueryHarness);
const receiver = aroundTests(() => openHttpReceiver({}));

type Asking = (
  send: (method: string, path: string, body?: unknown) => Promise<unknown>,
  run_id: string,
) => Promise<unknown>;

/**
 * Executes a run under which something is asked of its export, and gives why it ended: when the
 * worker was told of it, or when the delivery was to be shown.
 */
async function cancelledBy(ask: Asking, isTold: boolean): Promise<string> {
  const { db, engine } = exporting.harness.deps;
  const home = await exporting.harness.newOrganization();
  const destination = { type: 'HTTP', config: { url: `${receiver.url}/rows` } };
  const { id, send } = await exporting.scheduled(home, { destination });
  await exporting.insert(home, [{ event: 'one', at: '2026-01-01T00:10:00Z' }]);
  const [planned] = await exporting.plan(id);
  const run = (await claimRun(db, planned!.id, randomUUID()))!;
  const stop = new AbortController();
  const asking = () => ask(send, run.id);
  if (isTold) {
    receiver.plan('hang');
    receiver.onRequest(() => void asking().finally(() => stop.abort('cancelled')));
  } else await asking();
  await executeRun(engine, run, stop.signal);
  receiver.onRequest(() => undefined);
  const row = await db.row<{ status: string; latest_error: string }>(
    sql`SELECT status, latest_error FROM batch_export_runs WHERE id = ${run.id}`,
  );
  assert.equal(row!.status, 'Cancelled');
  return row!.latest_error;
}

test('an unwanted run in flight says why it ended', async () => {
  const config = { url: `${receiver.url}/elsewhere` };
  const asked: [Asking, string][] = [
    [(send, run_id) => send('POST', `runs/${run_id}/cancel/`), 'The run was cancelled.'],
    [(send) => send('DELETE', ''), 'The export was deleted.'],
    [
      (send) => send('PATCH', '', { destination: { type: 'HTTP', config } }),
      'The export was changed; its new version plans this interval again.',
    ],
  ];
  for (const [ask, message] of asked)
    for (const isTold of [true, false]) assert.equal(await cancelledBy(ask, isTold), message);
});
