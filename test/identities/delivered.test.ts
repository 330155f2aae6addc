import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { zstdDecompressSync } from 'node:zlib';
import { parquetReadObjects } from 'hyparquet';
import { aroundTests } from '../around_tests.ts';
import { isoInstant, systemClock } from '../../server/platform/clock.ts';
import { newExport, projectBase } from '../factories/batch_exports/batch_exports.ts';
import { inDepth, is_deep } from '../depth.ts';
import { openDeliveringHarness, until } from '../factories/batch_exports/delivering_harness.ts';
import type { TestOrganization } from '../harness.ts';
import { Model, compare } from './check.ts';
import { eventsOf } from './sequences.ts';
import { Warehouse, warehouse_models } from './warehouse.ts';
import type { DeliveredRow } from './warehouse.ts';

const delivering = aroundTests(openDeliveringHarness);

const hour_ms = 3_600_000;

/** Sends the events through the API, a hundred at a time. */
async function send(home: TestOrganization, events: object[]): Promise<void> {
  for (let from = 0; from < events.length; from += 100) {
    const { status, text } = await home.ask('POST', `/api/projects/${home.project.id}/events/`, {
      events: events.slice(from, from + 100),
    });
    assert.equal(status, 200, text);
  }
}

/** Has an export deliver what it has not delivered yet, and waits until it is there. */
async function deliver(home: TestOrganization, id: string): Promise<void> {
  const url = `${projectBase(home)}${id}/`;
  const hour = Math.floor(systemClock.now() / hour_ms) * hour_ms;
  const asked = await home.ask('POST', `${url}backfill/`, {
    start_at: isoInstant(hour - hour_ms),
    end_at: isoInstant(hour + hour_ms),
  });
  assert.equal(asked.status, 200, asked.text);
  const backfill = `${url}backfills/${asked.body.backfill.id}/`;
  const ended = await until(
    () => home.ask('GET', backfill),
    ({ status }) => !['Starting', 'Running'].includes(status),
  );
  assert.equal(ended.status, 'Completed');
}

async function rowsIn(prefix: string): Promise<DeliveredRow[]> {
  const folder = join(delivering.folder, prefix);
  const rows: DeliveredRow[] = [];
  for (const name of await readdir(folder)) {
    if (name === '_sluice') continue;
    const bytes = await readFile(join(folder, name));
    if (name.endsWith('.jsonl'))
      rows.push(
        ...bytes
          .toString()
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line) as DeliveredRow),
      );
    if (name.endsWith('.parquet'))
      rows.push(
        ...(await parquetReadObjects({
          file: Uint8Array.from(bytes).buffer,
          compressors: { ZSTD: (packed) => new Uint8Array(zstdDecompressSync(packed)) },
        })),
      );
  }
  return rows;
}

test(
  'the files of the three models, joined as docs/persons.md says, give the persons of the model',
  { timeout: 300_000 },
  async () => {
    const home = await delivering.harness.newOrganization();
    // Each writes the same rows; that a format writes what it is given is shown where it is made.
    const formats = is_deep ? ['JSONLines', 'Parquet'] : ['JSONLines'];
    const exports = [];
    for (const file_format of formats)
      for (const model of warehouse_models) {
        const config = { prefix: `${file_format}/${model}`, file_format };
        const destination = { type: 'File', config };
        exports.push((await newExport(home, { model, destination })).id as string);
      }
    await delivering.startOnce();
    const events = eventsOf(7, 0, inDepth(10, 60));
    const half = Math.floor(events.length / 2);
    for (const part of [events.slice(0, half), events.slice(half)]) {
      await send(home, part);
      await Promise.all(exports.map((id) => deliver(home, id)));
    }
    const model = new Model(home.project.id, events);
    model.takeUntil(new Set(events.map(({ uuid }) => uuid)).size);
    for (const file_format of formats) {
      const warehouse = new Warehouse();
      for (const name of warehouse_models)
        warehouse.load(name, await rowsIn(`${file_format}/${name}`));
      compare(model, warehouse);
      warehouse.close();
    }
  },
);
