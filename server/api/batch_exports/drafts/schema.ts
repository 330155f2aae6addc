import { Type } from 'typebox';
import type { Static } from 'typebox';
import { backfill_times } from '../../../engine/exports/planning/backfill_area.ts';
import { flag, instant, text, titled, whole } from '../../../platform/http/schemas.ts';
import { nullable } from '../../../platform/nullable.ts';

/** The answer of both `test/`: the steps that were tried at the destination, in order. */
export const DestinationTest = titled('DestinationTest', {
  steps: Type.Array(
    Type.Object({
      name: Type.String(),
      status: Type.Enum(['passed', 'failed', 'skipped'], {
        description: 'After a failed step the others are skipped.',
      }),
      detail: text('The result, and the next step.'),
      duration_ms: Type.Number(),
    }),
  ),
});

/** The answer of both `preview/`: the oldest rows in the form that the destination gets. */
export const ExportPreview = titled('ExportPreview', {
  format: text(
    '`JSONLines`, `CSV`, `Parquet`, `TabSeparated` (rows for a database, which the export ' +
      'sends in its own statements), or the `body_format` of an HTTP endpoint.',
  ),
  compression: nullable(Type.String()),
  records: whole(
    'Number of rows, at most 10; for an HTTP endpoint, the rows of its first request.',
  ),
  headers: nullable(
    Type.Record(Type.String(), Type.String(), {
      description: 'Headers of the request to an HTTP endpoint, secrets masked; null for others.',
    }),
  ),
  text: nullable(text('The bytes before compression as text; null for Parquet.')),
  base64: text('The final bytes, compression included.'),
  columns: Type.Array(Type.String(), { description: 'The columns of `rows`.' }),
  rows: Type.Array(Type.Array(nullable(Type.String())), {
    description:
      'The oldest rows (at most 10) as texts for people, one for each column, cut after ' +
      '200 characters.',
  }),
});

/** The answer of `effect/`: the effect of a change. */
export const ChangeEffect = titled('ChangeEffect', {
  starts_anew: flag(
    'True if rows, place or layout change: earlier deliveries then no longer count.',
  ),
  delivered_records: whole('Rows of completed runs that would no longer count; otherwise 0.'),
  open_runs: whole('Runs that would be cancelled and planned again; otherwise 0.'),
  place_before: text('Where the rows are delivered now, for people.'),
  place_after: text('Where the change would deliver them.'),
  delivered: Type.Array(
    Type.Object({
      by: Type.Enum([...backfill_times]),
      start_at: instant('Start of the earliest range (inclusive).'),
      end_at: instant('End of the latest range (exclusive).'),
    }),
    {
      description:
        'The ranges that have such rows: backfills of them, after the change, deliver these ' +
        'rows to the new place. Empty with `mode` `replace`, whose next run writes all rows.',
    },
  ),
  detail: text('The effect in a sentence, for people.'),
});
export type ChangeEffect = Static<typeof ChangeEffect>;
export type DestinationTest = Static<typeof DestinationTest>;
export type ExportPreview = Static<typeof ExportPreview>;
