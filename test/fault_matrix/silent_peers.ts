import { eventually } from '../eventually.ts';
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import sql from 'sql-template-tag';
import { claimRun } from '../../server/engine/exports/workers/claims.ts';
import { executeRun } from '../../server/engine/exports/delivery/execute.ts';
import { StallWatch } from '../../server/engine/exports/delivery/stall.ts';
import { startWorker } from '../../server/engine/exports/workers/worker.ts';
import type { TestOrganization } from '../harness.ts';
import { openHttpReceiver } from '../servers/http_receiver.ts';
import type { Answer } from '../servers/http_receiver.ts';
import type { QueryHarness } from '../factories/batch_exports/query_exports.ts';
import { withMethod } from './engine_faults.ts';
import { records } from './matrix.ts';

/** Creates an export of the project's first hour to a destination; returns its id. */
async function firstHour(
  exporting: QueryHarness,
  home: TestOrganization,
  type: string,
  config: Record<string, unknown>,
): Promise<string> {
  const { id } = await exporting.scheduled(home, { destination: { type, config } });
  await exporting.harness.deps.db.run(
    sql`UPDATE batch_exports SET end_at = '2026-01-01T01:00:00Z' WHERE id = ${id}`,
  );
  return id;
}

async function newHome(exporting: QueryHarness): Promise<TestOrganization> {
  const home = await exporting.harness.newOrganization();
  await exporting.insert(
    home,
    Array.from({ length: records }, (_, index) => ({
      event: 'seen',
      at: `2026-01-01T00:1${index}:00Z`,
    })),
  );
  return home;
}

/**
 * The destination waits three times, together longer than the limit, and each time longer than the
 * log's threshold.
 */
export async function slowPeer(exporting: QueryHarness): Promise<void> {
  const { db } = exporting.harness.deps;
  const receiver = await openHttpReceiver({});
  try {
    const id = await firstHour(exporting, await newHome(exporting), 'HTTP', {
      url: `${receiver.url}/slow`,
      max_request_records: 1,
    });
    const busy: Answer = { status: 429, headers: { 'retry-after': '2' }, body: 'Later.' };
    receiver.plan(busy, 'take', busy, 'take', busy, 'take');
    const [planned] = await exporting.plan(id);
    const run = await claimRun(db, planned!.id, randomUUID());
    const told: boolean[] = [];
    const engine = { ...exporting.harness.deps.engine, destination_silence_seconds_max: 4 };
    await executeRun(engine, run!, new AbortController().signal, (isStalled) =>
      told.push(isStalled),
    );
    const ended = await db.row(
      sql`SELECT status, failures, latest_error FROM batch_export_runs WHERE id = ${run!.id}`,
    );
    assert.deepEqual(ended, { status: 'Completed', failures: 0, latest_error: null });
    assert.equal(receiver.taken('/slow').length, records);
    assert.deepEqual(told, [true, false, true, false, true, false]);
    const lines = await db.rows<{ level: string; message: string }>(
      sql`SELECT level, message FROM batch_export_logs WHERE run_id = ${run!.id}
        AND message ~ 'progress' ORDER BY id`,
    );
    const warnings = lines.filter(({ level }) => level === 'WARNING');
    assert.ok(warnings.length >= 3, 'each wait is told of');
    for (const { message } of warnings)
      assert.match(
        message,
        /^The destination has shown no progress for \d+ s while writing slice 1 of 1\. It is waited for until 20[\dT:.-]+Z; then .*\.$/,
      );
    const over = lines.filter(({ level }) => level === 'INFO');
    assert.equal(over.length, 3, 'once after each wait');
    for (const { message } of over)
      assert.match(message, /^The destination continues after \d+ s without progress\.$/);
  } finally {
    await receiver.close();
  }
}

/** The rows arrive later than the destination may be silent, which is not its fault. */
export async function slowSource(exporting: QueryHarness): Promise<void> {
  const { db } = exporting.harness.deps;
  const id = await firstHour(exporting, await newHome(exporting), 'File', {
    prefix: 'slow-source',
  });
  const [planned] = await exporting.plan(id);
  const run = await claimRun(db, planned!.id, randomUUID());
  const given = exporting.harness.deps.engine;
  const clickhouse = withMethod(
    given.clickhouse,
    'exec',
    async (parameters: Parameters<typeof given.clickhouse.exec>[0]) => {
      const answer = await given.clickhouse.exec(parameters);
      const late = async function* () {
        for await (const chunk of answer.stream) {
          const asked_at = performance.now();
          await eventually(
            'it has never come to the fault',
            () => performance.now() - asked_at > 4_500,
          );
          yield chunk as Buffer;
        }
      };
      return { ...answer, stream: Readable.from(late(), { objectMode: false }) };
    },
  );
  // Wide bounds: a disk that is slow once counts as the destination's silence, and is no fault
  // here.
  const engine = { ...given, clickhouse, destination_silence_seconds_max: 4 };
  await executeRun(engine, run!, new AbortController().signal, () => undefined);
  const ended = await db.row(
    sql`SELECT status, failures FROM batch_export_runs WHERE id = ${run!.id}`,
  );
  const warnings = await db.rows(
    sql`SELECT message FROM batch_export_logs WHERE run_id = ${run!.id} AND level = 'WARNING'`,
  );
  assert.deepEqual([ended, warnings], [{ status: 'Completed', failures: 0 }, []]);
}

/** Even closing has a time limit. */
export async function deafDestination(exporting: QueryHarness): Promise<void> {
  const id = await firstHour(exporting, await newHome(exporting), 'NoOp', {});
  const [planned] = await exporting.plan(id);
  const run = await claimRun(exporting.harness.deps.db, planned!.id, randomUUID());
  const engine = { ...exporting.harness.deps.engine, destination_silence_seconds_max: 0.2 };
  const watch = new StallWatch(engine, run!, new AbortController().signal, () => undefined);
  for (const doing of ['showing the delivery', 'closing the delivery']) {
    await assert.rejects(
      watch.during(doing, () => new Promise(() => {})),
      {
        code: 'timed_out',
        message:
          /^The destination showed no progress for \d+ s while showing the delivery, .* SLUICE_DESTINATION_SILENCE_SECONDS_MAX\.$/,
      },
    );
    assert.ok(watch.signal.aborted);
  }
  await watch.close();
}

/** The worker and the project have four places each, and the four hanging runs release theirs. */
export async function hangingAndOthers(exporting: QueryHarness): Promise<void> {
  const { db } = exporting.harness.deps;
  const receiver = await openHttpReceiver({});
  const home = await newHome(exporting);
  const statuses = async (ids: string[]) =>
    (
      await db.rows<{ state: string }>(sql`
        SELECT status || ' ' || attempt || ' ' || failures AS state FROM batch_export_runs
          WHERE batch_export_id = ANY (${ids}::uuid[]) ORDER BY id`)
    ).map(({ state }) => state);
  const hanging: string[] = [];
  for (let count = 0; count < 4; count += 1)
    hanging.push(await firstHour(exporting, home, 'HTTP', { url: `${receiver.url}/hang` }));
  const engine = { ...exporting.harness.deps.engine, destination_silence_seconds_max: 24 };
  const worker = await startWorker(engine, { runs_max: 4, project_runs_max: 4, host_runs_max: 8 });
  try {
    await eventually('it has never come to the fault', () => receiver.requests.length === 4);
    const file = await firstHour(exporting, home, 'File', { prefix: 'beside-hanging' });
    await eventually(
      'it has never come to the fault',
      async () => (await statuses([file]))[0]?.startsWith('Completed') === true,
    );
    assert.deepEqual(
      await statuses(hanging),
      Array(4).fill('Running 1 0'),
      'nobody has ended them for it',
    );
  } finally {
    await worker.stop();
    await receiver.close();
  }
}
