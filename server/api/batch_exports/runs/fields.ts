import sql, { join, raw } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { held_until } from '../../../engine/exports/runs/hold_until_reconciled.ts';
import { rowSeconds } from '../../../engine/exports/runs/row_ages.ts';
import { counter_max } from './schema.ts';
import type { BatchExportRun } from './schema.ts';

// least() would ignore a null, so the cap is a CASE.
const capped = (column: Sql) =>
  sql`CASE WHEN ${column} > ${counter_max} THEN ${counter_max} ELSE ${column} END`;

/** SQL for the purpose of run `r`; one of `run_kinds`. */
export const run_kind = sql`CASE WHEN r.backfill_id IS NOT NULL THEN 'backfill'
  WHEN r.is_make_up THEN 'make_up' ELSE 'scheduled' END`;

const next_try_at = sql`CASE WHEN r.status = 'Running' AND r.worker_id IS NULL
  AND r.latest_error IS NOT NULL AND r.due_at < ${held_until} THEN r.due_at END`;

/** A retry has the backfill of the run that it retries. */
const is_run_now = sql`coalesce((SELECT b.is_run_now FROM batch_export_backfills b
  WHERE b.id = r.backfill_id), false)`;

const repeats = sql`CASE WHEN r.replaces ? 'repairs' THEN 'repair'
  WHEN r.replaces ? 'redelivers' THEN 'rejected_rows'
  WHEN r.replaces IS NOT NULL THEN 'erasure'
  WHEN r.id <> r.delivery_id AND NOT r.is_make_up THEN 'retry' END`;

/** The content of a field, which determines its JSON form: a `word` only needs quotes. */
type Kind = 'word' | 'text' | 'instant' | 'number' | 'boolean' | 'steps';
type Field = { value: Sql; kind: Kind; isNullable?: true };

/** The wire fields of run `r`, in their order. */
const fields: Record<keyof BatchExportRun, Field> = {
  id: { value: sql`r.id`, kind: 'word' },
  status: { value: sql`r.status`, kind: 'word' },
  records_completed: {
    value: capped(sql`r.records_completed`),
    kind: 'number',
    isNullable: true,
  },
  records_rejected: { value: capped(sql`r.records_rejected`), kind: 'number' },
  latest_error: { value: sql`r.latest_error`, kind: 'text', isNullable: true },
  data_interval_start: { value: sql`r.data_interval_start`, kind: 'instant' },
  data_interval_end: { value: sql`r.data_interval_end`, kind: 'instant' },
  cursor: { value: sql`r."cursor"`, kind: 'text', isNullable: true },
  created_at: { value: sql`r.created_at`, kind: 'instant' },
  finished_at: { value: sql`r.finished_at`, kind: 'instant', isNullable: true },
  cancel_requested_at: { value: sql`r.cancel_requested_at`, kind: 'instant', isNullable: true },
  last_updated_at: { value: sql`r.last_updated_at`, kind: 'instant' },
  records_total_count: {
    value: capped(sql`r.records_total_count`),
    kind: 'number',
    isNullable: true,
  },
  batch_export: { value: sql`r.batch_export_id`, kind: 'word' },
  backfill: { value: sql`r.backfill_id`, kind: 'word', isNullable: true },
  kind: { value: run_kind, kind: 'word' },
  is_run_now: { value: is_run_now, kind: 'boolean' },
  delivery_id: { value: sql`r.delivery_id`, kind: 'word' },
  bytes_completed: { value: sql`r.bytes_completed`, kind: 'number' },
  error_code: { value: sql`r.error_code`, kind: 'text', isNullable: true },
  next_try_at: { value: next_try_at, kind: 'instant', isNullable: true },
  repeats: { value: repeats, kind: 'word', isNullable: true },
  oldest_row_seconds: {
    value: rowSeconds(sql`r`, sql`r.oldest_inserted_at`),
    kind: 'number',
    isNullable: true,
  },
  newest_row_seconds: {
    value: rowSeconds(sql`r`, sql`r.newest_inserted_at`),
    kind: 'number',
    isNullable: true,
  },
  schema_number: { value: sql`r.schema_number`, kind: 'number', isNullable: true },
  values_unfit: { value: capped(sql`r.values_unfit`), kind: 'number', isNullable: true },
  steps: { value: sql`r.steps`, kind: 'steps' },
};
const entries = Object.entries(fields);

/** The wire fields of run `r` as columns. */
export const run_columns = join(
  entries.map(([name, { value }]) => sql`${value} AS ${raw(`"${name}"`)}`),
  ', ',
);

const spellings: Record<Exclude<Kind, 'word'>, (value: Sql) => Sql> = {
  text: (value) => sql`to_json(${value})::text`,
  instant: (value) => sql`wire_instant(${value})`,
  number: (value) => sql`(${value})::text`,
  boolean: (value) => sql`(${value})::text`,
  // Its only text values are instants.
  steps: (value) => sql`replace(replace(${value}::text, ': ', ':'), ', ', ',')`,
};

function textOf({ value, kind, isNullable }: Field): { quote: string; text: Sql } {
  const spelled = kind === 'word' ? value : spellings[kind](value);
  const isQuoted = kind === 'word' || kind === 'instant';
  if (isNullable !== true) return { quote: isQuoted ? '"' : '', text: spelled };
  const text = isQuoted ? sql`'"' || ${spelled} || '"'` : spelled;
  return { quote: '', text: sql`coalesce(${text}, 'null')` };
}

/** Returns the parts of the JSON for `concat`; text between two values is one part. */
function partsOfText(): Sql[] {
  let between = '{';
  const parts = entries.flatMap(([name, field]) => {
    const { quote, text } = textOf(field);
    const before = raw(`'${between}"${name}":${quote}'`);
    between = `${quote},`;
    return [before, text];
  });
  return [...parts, sql`'}'`];
}

/**
 * The JSON text of run `r`, byte for byte the same as the server makes from `run_columns`. It is
 * concatenated, because PostgreSQL's JSON functions look up the type of each field in each row.
 */
export const run_text = sql`concat(${join(partsOfText(), ', ')})`;
