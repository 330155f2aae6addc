import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { folderAroundTests } from '../../../../test/around_tests.ts';
import { is_deep } from '../../../../test/depth.ts';
import { destinationDeps } from '../../../../test/destinations/destination_deps.ts';
import { freshDelivery, isLasting } from '../../../../test/factories/batch_exports/deliveries.ts';
import { pageOf, smallParquet } from '../../../../test/factories/batch_exports/small_parquet.ts';
import { drawsOf } from '../../../../test/factories/events/generated_json.ts';
import { systemClock } from '../../../platform/clock.ts';
import type { Delivery, SliceOutcome } from '../../model/destination/destination.ts';
import { RetryableError } from '../../model/destination/errors.ts';
import { file_place } from '../file/file.ts';
import type { LakePlace, SmallFiles } from '../lake/place.ts';
import { entryText } from '../lake/delta_log/actions.ts';
import { defineDelta } from './delta.ts';
import { isShown } from '../lake/delta_log/delivered.ts';
import { loadTable } from '../lake/delta_log/log.ts';
import { openWorld } from '../lake/delta_log/world.ts';

const root = folderAroundTests();
const text = { name: 'text', type: 'text', nullable: true, expression: 'text' } as const;
const parquet = smallParquet(pageOf(2), 2);

/** The ends that a request to add an entry to the log can have. */
type Fate = 'answered' | 'never sent' | 'answer lost' | 'late' | 'after another writer';
const fates: Fate[] = ['answered', 'never sent', 'answer lost', 'late', 'after another writer'];

/** A table in the export folder; `fate` is asked at each request that adds an entry. */
function newTable(fate: () => Fate) {
  const late: (() => Promise<unknown>)[] = [];
  const config = { storage: 'File', table: `t${randomUUID().replaceAll('-', '')}` };
  const lost = () => new RetryableError('connection_lost', 'The answer was lost.');
  const faulty = (files: SmallFiles): SmallFiles => ({
    ...files,
    putNew: async (name, content) => {
      if (!name.endsWith('.json')) return files.putNew(name, content);
      const put = () => files.putNew(name, content);
      const chosen = fate();
      if (chosen === 'late') late.push(put);
      if (chosen === 'never sent' || chosen === 'late') throw lost();
      // Another writer creates no table here.
      if (chosen === 'after another writer' && !name.endsWith('0.json'))
        await files.putNew(name, entryText([{ commitInfo: { operation: 'OTHER' } }]));
      const is_new = await put();
      if (chosen === 'answer lost') throw lost();
      return is_new;
    },
  });
  const place: LakePlace = {
    ...file_place,
    openFiles: async (...given) => faulty(await file_place.openFiles(...given)),
  };
  const deps = { ...destinationDeps(), export_dir: root, clock: systemClock };
  const definition = defineDelta([place]);
  return {
    config,
    definition,
    deps,
    folder: join(root, 'delta', '7', config.table),
    written: new Map<string, SliceOutcome[]>(),
    open: (delivery: Delivery) => definition.open(config, delivery, deps),
    state: async () => loadTable((await openWorld(file_place, config, 7, deps)).log),
    landLate: async () => {
      for (const put of late.splice(0)) await put();
    },
  };
}

type Table = ReturnType<typeof newTable>;

/** Writes the slice of a delivery and commits it, as one attempt does. */
async function attempt(table: Table, delivery: Delivery): Promise<void> {
  const sink = await table.open(delivery);
  try {
    if (await sink.isCommitted()) return;
    await sink.recover([]);
    const outcomes = await written(sink);
    table.written.set(delivery.delivery_id, outcomes);
    await sink.commit(outcomes, manifestOf(delivery, outcomes));
  } finally {
    await sink.close();
  }
}

async function written(sink: Awaited<ReturnType<Table['open']>>): Promise<SliceOutcome[]> {
  const slice = { number: 0, records: 2, is_last: true } as const;
  const one = await sink.write(slice, Readable.from([parquet]));
  return [{ number: 0, records: 2, bytes: 0, sha256: '', ...one }];
}

function manifestOf({ delivery_id }: Delivery, outcomes: SliceOutcome[]) {
  const slices = outcomes.map(({ name }) => ({ name }));
  return { name: 'manifest', text: JSON.stringify({ version: 1, delivery_id, slices }) };
}

/** Looks for a delivery that gave no answer as the engine does: false is for good. */
async function settled(table: Table, delivery: Delivery): Promise<boolean> {
  const sink = await table.open(delivery);
  try {
    if (await sink.isCommitted()) return true;
    await sink.abort(table.written.get(delivery.delivery_id) ?? []);
    return await sink.isCommitted();
  } finally {
    await sink.close();
  }
}

for (const seed of is_deep ? [1, 2, 3, 4, 5] : [1])
  test(`no answer, no delivery twice or lost: random histories (seed ${seed})`, async () => {
    const draw = drawsOf(seed);
    const table = newTable(() => fates[draw(fates.length)]!);
    const batch_export_id = randomUUID();
    const [shown, given_back]: Delivery[][] = [[], []];
    for (let count = 0; count < 15; count += 1) {
      const delivery = freshDelivery({ batch_export_id, columns: [text] });
      for (let tries = 1; ; tries += 1) {
        const error: unknown = await attempt(table, { ...delivery, attempt: tries }).then(
          () => undefined,
          (thrown: unknown) => thrown,
        );
        if (draw(10) < 3) await table.landLate();
        if (error === undefined) {
          shown!.push(delivery);
          break;
        }
        assert.ok(error instanceof RetryableError);
        if (draw(2) === 0) continue;
        const isThere = await settled(table, delivery).catch(() => undefined);
        if (isThere === undefined) continue;
        (isThere ? shown : given_back)!.push(delivery);
        break;
      }
    }
    await table.landLate();
    const state = await table.state();
    for (const delivery of shown!) assert.ok(isShown(state, delivery), 'a delivery is lost');
    const last = { ...state, txns: new Map() };
    for (const delivery of given_back!)
      assert.ok(!isShown(last, delivery), 'a delivery that was given back is there');
    assert.equal(state.adds.size, shown!.length);
    const names = await readdir(table.folder);
    for (const { path } of state.adds.values()) assert.ok(names.includes(path));
    assert.equal(names.filter((name) => name.endsWith('.parquet')).length, shown!.length);
  });

test('a late request finds its version taken once the delivery is given up', async () => {
  let fate: Fate = 'answered';
  const table = newTable(() => fate);
  await attempt(table, freshDelivery({ columns: [text] }));
  const delivery = freshDelivery({ columns: [text] });
  fate = 'late';
  await assert.rejects(attempt(table, delivery), RetryableError);
  fate = 'answered';
  assert.equal(await settled(table, delivery), false);
  await table.landLate();
  assert.equal(isShown(await table.state(), delivery), false);
  // The attempts after that show it as usual.
  await attempt(table, { ...delivery, attempt: 2 });
  assert.equal((await table.state()).adds.size, 2);
});

test('an attempt that slept while it was given up shows nothing when it wakes', async () => {
  const table = newTable(() => 'answered');
  const delivery = freshDelivery({ columns: [text] });
  const sleeping = await table.open(delivery);
  await sleeping.recover([]);
  const outcomes = await written(sleeping);
  const other = newTable(() => 'never sent');
  const failing = await other.definition.open(table.config, delivery, table.deps);
  await failing.recover([]);
  await assert.rejects(
    failing.commit(await written(failing), manifestOf(delivery, outcomes)),
    RetryableError,
  );
  assert.equal(await settled(table, delivery), false);
  await assert.rejects(sleeping.commit(outcomes, manifestOf(delivery, outcomes)), RetryableError);
  assert.equal((await table.state()).adds.size, 0);
});

test('a table that needs more than Sluice writes is refused before a file is written', async () => {
  const table = newTable(() => 'answered');
  const { log } = await openWorld(file_place, table.config, 7, table.deps);
  const info = {
    id: randomUUID(),
    format: { provider: 'parquet', options: {} },
    schemaString: '{"type":"struct","fields":[]}',
    configuration: {},
  };
  const cases: [object, string[], RegExp][] = [
    [
      { minReaderVersion: 3, minWriterVersion: 7, readerFeatures: ['deletionVectors'] },
      [],
      /reader version 3/,
    ],
    [{ minReaderVersion: 1, minWriterVersion: 4 }, [], /writer version 4/],
    [{ minReaderVersion: 1, minWriterVersion: 2 }, ['day'], /partitioned by day/],
  ];
  for (const [protocol, partitionColumns, said] of cases) {
    await log.files.put(
      `${log.folder}/00000000000000000000.json`,
      entryText([{ protocol: protocol as never }, { metaData: { ...info, partitionColumns } }]),
    );
    const error: unknown = await attempt(table, freshDelivery({ columns: [text] })).catch(
      (one: unknown) => one,
    );
    assert.ok(isLasting('table_unsuitable')(error));
    assert.match((error as Error).message, said);
  }
  assert.deepEqual(
    (await readdir(table.folder)).filter((name) => name.endsWith('.parquet')),
    [],
  );
});
