import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import type {
  Delivery,
  DestinationDefinition,
  DestinationDeps,
  Sink,
} from '../../server/engine/model/destination/destination.ts';
import { isLasting, manifest } from '../factories/batch_exports/deliveries.ts';
import { deliverAgain, killDeliveries } from '../processes/killed_delivery.ts';
import type { DeliveryOrders, KillPlace } from '../processes/killed_delivery.ts';
import { uuidDelivery } from '../servers/databases/postgres_destination.ts';

/** A table whose only column, `n`, refuses numbers from 100 on, and a config for it. */
export type RefusingPlace = {
  config: Record<string, unknown>;
  /** The numbers in the table, sorted. */
  rows(): Promise<number[]>;
  /** Returns the table of rejected rows, in order; empty without such a table. */
  rejected(): Promise<{ number: number; slice: number; record: string; code: string }[]>;
  /**
   * Makes the table accept all numbers. Undefined if an attempt would wait for one that already
   * runs.
   */
  relent?(): Promise<unknown>;
};

/** A destination whose tables refuse single rows. */
export type RefusingWorld = {
  definition: DestinationDefinition;
  deps(): DestinationDeps;
  freshPlace(): Promise<RefusingPlace>;
  /** Why it refuses them. */
  code?: 'constraint_violated' | 'value_refused';
  /** Ends the sessions of a killed worker if the server keeps them for a while. */
  endSessions?(): Promise<void>;
};

const columns = [{ name: 'n', type: 'integer', nullable: false, expression: 'n' } as const];
const textOf = (numbers: number[]) => numbers.map((n) => `${n}\n`).join('');
const setAside = (rows_max: number): Delivery => uuidDelivery({ columns, rejects: { rows_max } });

async function writeAll(sink: Sink, slices: number[][]): Promise<number[][]> {
  const refused: number[][] = [];
  for (const [number, numbers] of slices.entries()) {
    const slice = { number, records: numbers.length };
    const written = await sink.write(slice, Readable.from([Buffer.from(textOf(numbers))]));
    refused.push((written.refused ?? []).map(({ values }) => Number(values[0])));
  }
  return refused;
}

/** Registers the tests of rows that are set aside. */
export function testRejected(world: RefusingWorld): void {
  testShown(world);
  testKills(world);
  testManyRows(world);
}

/** Registers the tests of attempts that run concurrently until they commit. */
export function testRivals({ definition, deps, freshPlace }: RefusingWorld): void {
  test('of attempts that meet one shows the rows, at first and when they come again', async () => {
    const place = await freshPlace();
    const delivery = setAside(3);
    const again = { ...delivery, rejects: undefined, redelivers: true as const };
    const slices = [[1, 100], [2]];
    const meet = async (orders: Delivery) => {
      const sinks: Sink[] = [];
      for (let n = 0; n < 2; n += 1) {
        const sink = await definition.open(place.config, orders, deps());
        await sink.recover([]);
        sinks.push(sink);
      }
      for (const sink of sinks) await writeAll(sink, slices);
      const codes: unknown[] = [];
      for (const sink of sinks)
        codes.push(await sink.commit([], manifest).catch(({ code }: { code: unknown }) => code));
      for (const sink of sinks) await sink.close();
      assert.deepEqual(codes.toSorted(), ['conflict', undefined]);
    };
    await meet(delivery);
    assert.deepEqual([await place.rows(), (await place.rejected()).length], [[1, 2], 1]);
    await place.relent!();
    await meet(again);
    assert.deepEqual([await place.rows(), await place.rejected()], [[1, 2, 100], []]);
  });
}

function testShown({ definition, deps, freshPlace, ...world }: RefusingWorld): void {
  const { code: why = 'constraint_violated' } = world;
  test('refused rows are set aside with the delivery, all at once, or rolled back', async () => {
    const place = await freshPlace();
    const slices = [[1, 100, 2], [3], [101, 4, 102]];
    const delivery = setAside(3);
    const dropped = await definition.open(place.config, delivery, deps());
    await dropped.recover([]);
    assert.deepEqual(await writeAll(dropped, slices), [[100], [], [101, 102]]);
    assert.deepEqual([await place.rows(), await place.rejected()], [[], []]);
    await dropped.abort([]);
    await dropped.close();
    assert.deepEqual([await place.rows(), await place.rejected()], [[], []]);
    const sink = await definition.open(place.config, delivery, deps());
    await sink.recover([]);
    await writeAll(sink, slices);
    await sink.commit([], manifest);
    await sink.close();
    assert.deepEqual(await place.rows(), [1, 2, 3, 4]);
    assert.deepEqual(
      (await place.rejected()).map(({ number, slice, record, code }) => [
        number,
        slice,
        record,
        code,
      ]),
      [
        [1, 0, '{"n":"100"}', why],
        [2, 2, '{"n":"101"}', why],
        [3, 2, '{"n":"102"}', why],
      ],
    );
  });

  test('more refused rows than may be set aside are an error, and nothing is shown', async () => {
    const place = await freshPlace();
    const sink = await definition.open(place.config, setAside(2), deps());
    await sink.recover([]);
    await assert.rejects(
      writeAll(sink, [
        [1, 100],
        [101, 102],
      ]),
      isLasting('too_many_rejected'),
    );
    await sink.abort([]);
    await sink.close();
    assert.deepEqual([await place.rows(), await place.rejected()], [[], []]);
  });
}

function testKills({ definition, deps, freshPlace, endSessions }: RefusingWorld): void {
  test('a worker that is killed while it sets rows aside has shown all or nothing', async () => {
    const kinds: KillPlace[] = ['writing', 'written', 'committed', 'committing'];
    const places = await Promise.all(kinds.map(() => freshPlace()));
    const slices = [
      [1, 100],
      [2, 101, 3],
    ].map((numbers) => ({
      base64: Buffer.from(textOf(numbers)).toString('base64'),
      records: numbers.length,
    }));
    const all = places.map(({ config }, number): DeliveryOrders => ({
      type: definition.type,
      config,
      delivery: setAside(10),
      slices,
      place: kinds[number]!,
    }));
    await killDeliveries(all, { after_milliseconds: 4 });
    await endSessions?.();
    for (const [number, { rows, rejected }] of places.entries()) {
      const kind = kinds[number]!;
      const isShown = (await rows()).length > 0;
      if (kind !== 'committing') assert.equal(isShown, kind === 'committed', kind);
      assert.equal((await rejected()).length, isShown ? 2 : 0, kind);
      assert.equal(await deliverAgain(definition, all[number]!, deps()), isShown, kind);
      assert.deepEqual(await rows(), [1, 2, 3], kind);
      assert.deepEqual(
        (await rejected()).map(({ record }) => record),
        ['{"n":"100"}', '{"n":"101"}'],
        kind,
      );
    }
  });
}

function testManyRows({ definition, deps, freshPlace }: RefusingWorld): void {
  test('each refused row of many pieces is found, and each other one is there once', async () => {
    const place = await freshPlace();
    // Contains blanks that the server drops, so that there are several pieces.
    const all = Array.from({ length: 60_000 }, (_, n) => (n % 7_919 === 5 ? 1_000 + n : n % 100));
    const text = all.map((n) => `${String(n).padStart(120, '0')}\n`).join('');
    const sink = await definition.open(place.config, setAside(100), deps());
    await sink.recover([]);
    const bytes = Buffer.from(text);
    const pieces = Array.from({ length: Math.ceil(bytes.length / 60_001) }, (_, at) =>
      bytes.subarray(at * 60_001, (at + 1) * 60_001),
    );
    const slice = { number: 0, records: all.length, is_last: true as const };
    const { refused = [] } = await sink.write(slice, Readable.from(pieces));
    await sink.commit([], manifest);
    await sink.close();
    const wanted = all.filter((n) => n >= 100);
    assert.deepEqual(
      refused.map(({ values }) => Number(values[0])),
      wanted,
    );
    assert.equal((await place.rejected()).length, wanted.length);
    const good = all.filter((n) => n < 100).toSorted((one, other) => one - other);
    assert.deepEqual(await place.rows(), good);
  });
}
