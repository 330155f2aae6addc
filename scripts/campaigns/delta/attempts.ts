import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { parquetOf } from '../../../server/engine/destinations/lake/delta_log/parquet_rows.ts';
import type { Shape } from '../../../server/engine/destinations/lake/delta_log/parquet_rows.ts';
import { defineDelta } from '../../../server/engine/destinations/delta/delta.ts';
import { loadTable } from '../../../server/engine/destinations/lake/delta_log/log.ts';
import { openWorld } from '../../../server/engine/destinations/lake/delta_log/world.ts';
import { file_place } from '../../../server/engine/destinations/file/file.ts';
import type { LakePlace, SmallFiles } from '../../../server/engine/destinations/lake/place.ts';
import type { Delivery, Sink } from '../../../server/engine/model/destination/destination.ts';
import { RetryableError } from '../../../server/engine/model/destination/errors.ts';
import { systemClock } from '../../../server/platform/clock.ts';
import { silentLog } from '../../../server/platform/log.ts';
import { openOutbound } from '../../../server/platform/outbound/outbound.ts';

/** The possible ends of a request that adds an entry to the log. */
export type Fate = 'answered' | 'never sent' | 'answer lost' | 'late';
/** A step of a delivery. */
export type Asked = {
  what: 'attempt' | 'settle' | 'land';
  fate: Fate;
  delivery: string;
  batch_export_id: string;
  /** For a merged delivery: its number, which makes its rows newer than those of earlier ones. */
  number?: number;
};

/** The result of the step, and the number of other entries that came first. */
export type Done = { verdict: 'shown' | 'absent' | 'unknown'; conflicts: number };

/** Rows of each delivery. */
export const delivery_rows = 3;
/** Keys of a merged table. */
const merged_keys = 7;

/** The keys of a delivery's rows in a merged table, which it changes. */
export function keysOf(number: number): string[] {
  return Array.from({ length: delivery_rows }, (_, n) => `k${(number + n * n) % merged_keys}`);
}

/** A table in an export folder. Attempts deliver to it by the product's own code. */
export function openTable(export_dir: string, table: string, is_naive: boolean) {
  const { place, fated } = faultyPlace();
  const config = { storage: 'File', table };
  const deps = {
    log: silentLog(),
    outbound: openOutbound({ allow: [] }),
    export_dir,
    clock: systemClock,
    signal: new AbortController().signal,
  };
  const definition = defineDelta([place]);
  const open = (delivery: Delivery) => definition.open(config, delivery, deps);
  const act = async ({ what, ...asked }: Asked): Promise<Done['verdict']> => {
    const delivery = deliveryOf(asked);
    if (what === 'land') for (const put of fated.late.splice(0)) await put();
    // A naive writer assumes that an unanswered request had no effect.
    if (what === 'attempt')
      await attempt(open, is_naive ? { ...delivery, delivery_id: randomUUID() } : delivery, asked);
    return what === 'settle' && !(await settle(open, delivery)) ? 'absent' : 'shown';
  };
  return {
    do: async (asked: Asked): Promise<Done> => {
      Object.assign(fated, { next: asked.fate, conflicts: 0 });
      const verdict = await act(asked).catch((error: unknown) => {
        if (error instanceof RetryableError) return 'unknown' as const;
        throw error;
      });
      return { verdict, conflicts: fated.conflicts };
    },
    load: async () => loadTable((await openWorld(file_place, config, 7, deps)).log),
    folder: `${export_dir}/delta/7/${table}`,
    close: () => deps.outbound.close(),
  };
}

/** The export folder; it decides the fate of the next request that adds an entry. */
function faultyPlace() {
  const fated = {
    next: 'answered' as Fate,
    conflicts: 0,
    late: [] as (() => Promise<unknown>)[],
  };
  const faulty = (files: SmallFiles): SmallFiles => ({
    ...files,
    putNew: async (name, content) => {
      if (!name.endsWith('.json')) return files.putNew(name, content);
      const put = () => files.putNew(name, content);
      const chosen = fated.next;
      fated.next = 'answered';
      if (chosen === 'late') fated.late.push(put);
      const lost = new RetryableError('connection_lost', 'The answer was lost.');
      if (chosen === 'never sent' || chosen === 'late') throw lost;
      const is_new = await put();
      if (!is_new) fated.conflicts += 1;
      if (chosen === 'answer lost') throw lost;
      return is_new;
    },
  });
  const place: LakePlace = {
    ...file_place,
    openFiles: async (...given) => faulty(await file_place.openFiles(...given)),
  };
  return { place, fated };
}

type Open = (delivery: Delivery) => Promise<Sink>;

async function attempt(
  open: Open,
  delivery: Delivery,
  { number }: Pick<Asked, 'number'>,
): Promise<void> {
  const sink = await open(delivery);
  if (await sink.isCommitted()) return;
  await sink.recover([]);
  const shapes: Shape[] = [
    ...(number === undefined ? [] : [{ name: 'id', of: 'text' } as const]),
    { name: 'delivery', of: 'text' },
    { name: 'n', of: 'long' },
  ];
  const rows = Array.from({ length: delivery_rows }, (_, n) =>
    number === undefined
      ? { delivery: delivery.run_id, n }
      : { id: keysOf(number)[n], delivery: delivery.run_id, n: number },
  );
  const slice = { number: 0, records: delivery_rows, is_last: true } as const;
  const written = await sink.write(slice, Readable.from([parquetOf(shapes, rows)]));
  const outcomes = [{ number: 0, records: delivery_rows, bytes: 0, sha256: '', ...written }];
  const { delivery_id } = delivery;
  const slices = [{ name: written.name }];
  const text = JSON.stringify({ version: 1, delivery_id, slices });
  try {
    await sink.commit(outcomes, { name: 'manifest', text });
  } finally {
    await sink.close();
  }
}

/** Looks for a delivery as the engine does. */
async function settle(open: Open, delivery: Delivery): Promise<boolean> {
  const sink = await open(delivery);
  if (await sink.isCommitted()) return true;
  await sink.abort([]);
  return sink.isCommitted();
}

function deliveryOf({ delivery, batch_export_id, number }: Omit<Asked, 'what'>): Delivery {
  const id = { name: 'id', type: 'text', nullable: true, expression: 'id' } as const;
  return {
    ...(number === undefined ? {} : { merge: { key: ['id'], versions: ['n'] } }),
    delivery_id: delivery,
    run_id: delivery,
    attempt: 1,
    batch_export_id,
    team_id: 7,
    model: 'events',
    data_interval_start: '2026-01-01T00:00:00Z',
    data_interval_end: '2026-01-01T01:00:00Z',
    timezone: 'UTC',
    columns: [
      ...(number === undefined ? [] : [id]),
      { name: 'delivery', type: 'text', nullable: true, expression: 'delivery' },
      { name: 'n', type: 'integer', nullable: true, expression: 'n' },
    ],
  };
}
