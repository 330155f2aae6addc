import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { parquetOf } from '../../../server/engine/destinations/delta/parquet_rows.ts';
import { defineDelta } from '../../../server/engine/destinations/delta/delta.ts';
import { loadTable } from '../../../server/engine/destinations/delta/log.ts';
import { openWorld } from '../../../server/engine/destinations/delta/world.ts';
import { file_place } from '../../../server/engine/destinations/file/file.ts';
import type { LakePlace, SmallFiles } from '../../../server/engine/destinations/lake/place.ts';
import type { Delivery } from '../../../server/engine/model/destination/destination.ts';
import { RetryableError } from '../../../server/engine/model/destination/errors.ts';
import { systemClock } from '../../../server/platform/clock.ts';
import { silentLog } from '../../../server/platform/log.ts';
import { openOutbound } from '../../../server/platform/outbound/outbound.ts';

/** What becomes of requests that add an entry to the log. */
export type Fate = 'answered' | 'never sent' | 'answer lost' | 'late';
/** One thing to do with a delivery. */
export type Asked = {
  what: 'attempt' | 'settle' | 'land';
  fate: Fate;
  delivery: string;
  batch_export_id: string;
};

/** What is known of it then, and how many entries of others were in the way. */
export type Done = { verdict: 'shown' | 'absent' | 'unknown'; conflicts: number };

/** Rows of each delivery. */
export const delivery_rows = 3;

/** A table in an export folder, to which attempts deliver by the product's own code. */
export function openTable(export_dir: string, table: string, is_naive: boolean) {
  let fate: Fate = 'answered';
  let conflicts = 0;
  const late: (() => Promise<unknown>)[] = [];
  const faulty = (files: SmallFiles): SmallFiles => ({
    ...files,
    putNew: async (name, content) => {
      if (!name.endsWith('.json')) return files.putNew(name, content);
      const put = () => files.putNew(name, content);
      const chosen = fate;
      fate = 'answered';
      if (chosen === 'late') late.push(put);
      const lost = new RetryableError('connection_lost', 'The answer was lost.');
      if (chosen === 'never sent' || chosen === 'late') throw lost;
      const is_new = await put();
      if (!is_new) conflicts += 1;
      if (chosen === 'answer lost') throw lost;
      return is_new;
    },
  });
  const place: LakePlace = {
    ...file_place,
    openFiles: async (...given) => faulty(await file_place.openFiles(...given)),
  };
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

  async function attempt(delivery: Delivery): Promise<void> {
    const sink = await open(delivery);
    if (await sink.isCommitted()) return;
    await sink.recover([]);
    const shapes = [
      { name: 'delivery', of: 'text' },
      { name: 'n', of: 'long' },
    ] as const;
    const rows = Array.from({ length: delivery_rows }, (_, n) => ({
      delivery: delivery.run_id,
      n,
    }));
    const slice = { number: 0, records: delivery_rows, is_last: true } as const;
    const bytes = parquetOf([...shapes], rows);
    const written = await sink.write(slice, Readable.from([bytes]));
    const outcomes = [{ number: 0, records: delivery_rows, bytes: 0, sha256: '', ...written }];
    const { delivery_id } = delivery;
    const slices = [{ name: written.name }];
    const text = JSON.stringify({ version: 1, delivery_id, slices });
    await sink.commit(outcomes, { name: 'manifest', text });
    await sink.close();
  }

  async function settle(delivery: Delivery): Promise<boolean> {
    const sink = await open(delivery);
    if (await sink.isCommitted()) return true;
    await sink.abort([]);
    return sink.isCommitted();
  }

  return {
    do: async (asked: Asked): Promise<Done> => {
      ({ fate } = asked);
      conflicts = 0;
      const delivery = deliveryOf(asked);
      try {
        if (asked.what === 'land') for (const put of late.splice(0)) await put();
        // A naive writer takes what was not answered for what did not happen.
        if (asked.what === 'attempt')
          await attempt(is_naive ? { ...delivery, delivery_id: randomUUID() } : delivery);
        const is_absent = asked.what === 'settle' && !(await settle(delivery));
        return { verdict: is_absent ? 'absent' : 'shown', conflicts };
      } catch (error) {
        if (error instanceof RetryableError) return { verdict: 'unknown', conflicts };
        throw error;
      }
    },
    load: async () => loadTable((await openWorld(file_place, config, 7, deps)).log),
    folder: `${export_dir}/delta/7/${table}`,
    close: () => deps.outbound.close(),
  };
}

function deliveryOf({ delivery, batch_export_id }: Asked): Delivery {
  return {
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
      { name: 'delivery', type: 'text', nullable: true, expression: 'delivery' },
      { name: 'n', type: 'integer', nullable: true, expression: 'n' },
    ],
  };
}
