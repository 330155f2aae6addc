import type { Engine } from '../engine.ts';
import { openOrder } from '../runs/run_input.ts';
import type { Order } from '../runs/run_input.ts';
import { noteInRunLog } from '../../model/run_log.ts';
import type { LogLevel } from '../../model/run_log.ts';
import type { ClaimedRun } from '../../model/run.ts';
import type { StallWatch } from './stall.ts';
import type { Delivery, ErasedRows, RepairedRows } from '../../model/destination/destination.ts';
import { fromStored } from '../../model/ledger/rectangles.ts';
import { keyColumn, personColumn } from '../../destinations/sql_tables/layout.ts';
import type { StepClock } from './step_clock.ts';
import { deliveredKeys } from '../source/delivered_keys.ts';
import { erasedKeys, erasedPersons } from '../source/erased_keys.ts';
import { openSourceQuery } from '../source/source_query.ts';
import type { SourceQuery } from '../source/source_query.ts';
import { sorted } from '../source/sorted.ts';

/**
 * Why a run's signal was aborted: its user cancelled it, its row was deleted, another worker
 * claimed it, or this process stops.
 */
export type StopReason = 'cancelled' | 'gone' | 'lost' | 'shutdown';

/** Everything that one attempt works with. */
export type Attempt = Order & {
  engine: Engine;
  run: ClaimedRun;
  signal: AbortSignal;
  clock: StepClock;
  /** Opened on first use: an existing delivery ends the run without the analytics store. */
  reading?: Promise<SourceQuery>;
};

/**
 * An attempt with an open destination; `signal` also aborts if the destination stalls for too long.
 */
export type WatchedAttempt = Attempt & { watch: StallWatch };

/** Opens an attempt at a run; throws if the run's order can no longer be read. */
export function openAttempt(
  engine: Engine,
  run: ClaimedRun,
  signal: AbortSignal,
  clock: StepClock,
): Attempt {
  const order = openOrder(engine, run);
  const { replaces } = run;
  if (replaces === null) return { engine, run, ...order, signal, clock };
  const delivery: Delivery =
    'redelivers' in replaces
      ? replaces.repairs === true && order.definition.repairs_rows === true
        ? { ...order.delivery, repairs: repairedRows(engine, run, signal) }
        : { ...order.delivery, redelivers: true }
      : {
          ...order.delivery,
          erased: erasedOf(order.delivery, {
            rows: () => erasedKeys(engine, { ...run, ...replaces }, signal),
            persons: () => erasedPersons(engine, replaces, signal),
          }),
        };
  return { engine, run, ...order, delivery, signal, clock };
}

function repairedRows(engine: Engine, run: ClaimedRun, signal: AbortSignal): RepairedRows {
  return { keys: () => deliveredKeys(engine, run, signal), areas: fromStored(run.selection) };
}

/** Rows without their model's key are removed by the person who owns them. */
function erasedOf(
  delivery: Delivery,
  { rows, persons }: Record<'rows' | 'persons', ErasedRows['keys']>,
): ErasedRows {
  const column = keyColumn(delivery) === undefined ? personColumn(delivery) : undefined;
  return column === undefined ? { keys: rows } : { column, keys: persons };
}

/** Opens the attempt's source query once and returns it. */
export function readingOf(attempt: Attempt): Promise<SourceQuery> {
  const { engine, run, definition, config, delivery } = attempt;
  attempt.reading ??= openSourceQuery(engine, run).then((reading) =>
    sorted(reading, delivery.columns, definition.sortedBy?.(config, delivery) ?? []),
  );
  return attempt.reading;
}

/**
 * Returns true if a run may reuse a recent answer of the store to another run. A repeated attempt
 * asks again, and so does a run that replaces erased rows.
 */
export function isFirstReading({ attempt, replaces }: ClaimedRun): boolean {
  return attempt === 1 && replaces === null;
}

/** Writes a line into the run's log. */
export async function say(
  { engine, run }: Attempt,
  level: LogLevel,
  message: string,
): Promise<void> {
  await noteInRunLog(engine.db, {
    batch_export_id: run.batch_export_id,
    run_id: run.id,
    level,
    message,
  });
}
