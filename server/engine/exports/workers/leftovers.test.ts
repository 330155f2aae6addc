import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { eventually } from '../../../../test/eventually.ts';
import { newExport } from '../../../../test/factories/batch_exports/batch_exports.ts';
import { fillEvents } from '../../../../test/factories/events/fill_events.ts';
import { openHarness } from '../../../../test/harness.ts';
import type { TestOrganization } from '../../../../test/harness.ts';
import { claimRun } from './claims.ts';
import { destinationDeps } from '../engine.ts';
import type { Engine } from '../engine.ts';
import { executeRun } from '../delivery/execute.ts';
import { settle } from '../delivery/settle_failure.ts';
import { removeLeftovers } from './leftovers.ts';
import { openOrder } from '../runs/run_input.ts';
import { insertRun } from '../planning/plan.ts';
import type { ClaimedRun } from '../../model/run.ts';
import { beat } from './heartbeat.ts';
import { aroundTests, folderAroundTests } from '../../../../test/around_tests.ts';

const folder = folderAroundTests();
const hour = 3_600_000;
const from = Date.parse('2026-01-01T00:00:00Z');
let engine: Engine;
const harness = aroundTests(
  () => openHarness({ config: { export_dir: folder } }),
  async (opened) => {
    engine = opened.deps.engine;
  },
);

/** A run of an export to files in a folder of its own, in a worker's hands. */
async function newRun(
  home: TestOrganization,
  worker: string,
): Promise<{ run: ClaimedRun; prefix: string }> {
  const prefix = randomUUID();
  const { id } = await newExport(home, {
    destination: { type: 'File', config: { prefix, max_file_size_mb: 1 } },
  });
  const runId = await engine.db.transaction((tx) =>
    insertRun(tx, {
      export: { id, revision: 1 },
      backfill_id: null,
      from,
      to: from + hour,
      selection: [
        {
          event_from: -Infinity,
          event_to: Infinity,
          inserted_from: from,
          inserted_to: from + hour,
        },
      ],
    }),
  );
  return { run: (await claimRun(engine.db, runId!, worker))!, prefix };
}

async function beginFile(run: ClaimedRun): Promise<void> {
  const { definition, config, delivery } = openOrder(engine, run);
  const deps = destinationDeps(engine, new AbortController().signal);
  const sink = await definition.open(config, delivery, deps);
  await sink.write({ number: 0, records: 1 }, Readable.from([Buffer.from('{}\n')]));
  await sink.close();
}

const filesOf = (prefix: string) => {
  try {
    return readdirSync(join(folder, prefix));
  } catch {
    return [];
  }
};

async function remove(home: TestOrganization, what: 'project' | 'organization'): Promise<void> {
  const path =
    what === 'project'
      ? `/api/projects/${home.project.id}/`
      : `/api/organizations/${home.organization.id}/`;
  const answer = await harness.request('DELETE', path, { key: home.key });
  assert.equal(answer.status, 204, answer.text);
}

for (const what of ['project', 'organization'] as const)
  test(`a ${what} that is deleted in the middle of a run leaves no file behind`, async () => {
    const home = await harness.newOrganization();
    await fillEvents(harness.deps.clickhouse, {
      team_id: home.project.id,
      events: 20_000,
      from,
      to: from + hour,
    });
    const worker = randomUUID();
    await beat(engine.db, worker);
    const { run, prefix } = await newRun(home, worker);
    const working = executeRun(engine, run, new AbortController().signal);
    await eventually('no file is begun', () => filesOf(prefix).length > 0);
    await remove(home, what);
    await working;
    assert.deepEqual(filesOf(prefix), []);
    assert.equal(await engine.db.row(sql`SELECT 1 FROM batch_export_leftovers`), undefined);
  });

test('a run that fails as its project goes leaves no file, whatever the fault', async () => {
  const home = await harness.newOrganization();
  const { run, prefix } = await newRun(home, randomUUID());
  await beginFile(run);
  await remove(home, 'project');
  await settle(engine, run, new Error('A key is not there.'), new AbortController().signal);
  assert.deepEqual(filesOf(prefix), []);
  assert.equal(await engine.db.row(sql`SELECT 1 FROM batch_export_leftovers`), undefined);
});

test('another worker removes the leftovers of a killed one', async () => {
  const home = await harness.newOrganization();
  const [dead, living] = [randomUUID(), randomUUID()];
  await beat(engine.db, living);
  const runs = [await newRun(home, dead), await newRun(home, living)];
  for (const { run } of runs) await beginFile(run);
  const [left, kept] = runs.map(({ prefix }) => prefix) as [string, string];
  assert.equal(filesOf(left).length, 1);
  await remove(home, 'project');
  assert.equal(await removeLeftovers(engine), 1);
  assert.deepEqual([filesOf(left).length, filesOf(kept).length], [0, 1]);
  await engine.db.run(sql`DELETE FROM workers WHERE id = ${living}`);
  assert.equal(await removeLeftovers(engine), 1);
  assert.deepEqual(filesOf(kept), []);
  assert.equal(await removeLeftovers(engine), 0);
});
