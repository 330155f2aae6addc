import type { Rectangle } from '../../model/ledger/rectangles.ts';
import { models } from '../../model/models/index.ts';
import type { Model } from '../../model/models/model.ts';

/**
 * The times by which a backfill can select rows: when an event happened, or when the server
 * ingested the row.
 */
export const backfill_times = ['timestamp', 'inserted_at'] as const;

/** One of `backfill_times`. */
export type BackfillBy = (typeof backfill_times)[number];

/**
 * The times that can select rows of a model; a backfill uses the first by default. Persons only
 * have the time of their latest change.
 */
export function timesOf(model: Model['name']): readonly [BackfillBy, ...BackfillBy[]] {
  return models[model].has_event_time ? backfill_times : ['inserted_at'];
}

/**
 * Returns the area of a backfill's run over [from, to) before subtraction; all in milliseconds. It
 * never contains rows inserted from the watermark on. By insertion time, the rectangle is empty if
 * the watermark lies before `from`.
 */
export function backfillArea(
  by: BackfillBy,
  from: number,
  to: number,
  watermark: number,
): Rectangle {
  return by === 'timestamp'
    ? { event_from: from, event_to: to, inserted_from: -Infinity, inserted_to: watermark }
    : {
        event_from: -Infinity,
        event_to: Infinity,
        inserted_from: from,
        inserted_to: Math.min(to, watermark),
      };
}
