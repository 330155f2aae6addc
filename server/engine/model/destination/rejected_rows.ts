import { hash } from 'node:crypto';
import type { ValueRow } from './content_source.ts';
import type { Column } from '../models/column.ts';
import { NonRetryableError } from './errors.ts';
import { counted } from '../../../platform/counted.ts';

/** Treatment of rows that a destination refuses for their content. */
export const rejected_rows_modes = ['stop', 'set_aside'] as const;

/** Most rows that a run may set aside, whatever the export's `rejected_rows_max`. */
export const rejected_rows_limit = 10_000;

/** Default for an export without the field. */
export const rejected_rows_default = 1_000;
/** Default for an export without the field. */
export const rejected_percent_default = 10;

/** Up to this many rows, the percentage does not apply. */
const uncounted_share = 10;

/** An export's policy for refused rows. */
export type RejectedRowsPolicy = {
  rejected_rows: (typeof rejected_rows_modes)[number];
  rejected_rows_max: number;
  rejected_percent_max: number;
};

/** A row that the destination refused, with its values as they were sent. */
export type RejectedRow = { values: ValueRow; code: string; reason: string };

/** A row that was set aside: a hash of its key (`rejectedKey`) and the error code. */
export type RejectedKey = { key: string | null; code: string };

/** Counts the set-aside rows of the slices. */
export function rejectedCount(outcomes: { rejected?: RejectedKey[] }[]): number {
  return outcomes.reduce((sum, { rejected = [] }) => sum + rejected.length, 0);
}

/** Returns the number of a run's rows that may be set aside. */
export function rejectedRowsMax(policy: RejectedRowsPolicy, records: number): number {
  const share = Math.floor((records * policy.rejected_percent_max) / 100);
  return Math.min(policy.rejected_rows_max, Math.max(share, uncounted_share));
}

/**
 * Returns the error of a run that exceeds its limit of set-aside rows; it names the first reasons.
 */
export function tooManyRejected(rows_max: number, rejected: RejectedRow[]): NonRetryableError {
  return new NonRetryableError(
    'too_many_rejected',
    `The destination refused more than ${rows_max} rows, the limit of a run ` +
      '(rejected_rows_max, rejected_percent_max). The run delivered nothing. The first ' +
      'reasons: ' +
      reasonsOf(rejected),
  );
}

/** Returns a hash of a row's key, by which `find` recognizes the row; null if it has no key. */
export function rejectedKey(key: string | null | undefined): string | null {
  return typeof key === 'string' ? hash('sha256', key).slice(0, 32) : null;
}

/** Returns the first three different reasons, each with its number of rows. */
export function reasonsOf(rejected: RejectedRow[]): string {
  const counts = new Map<string, number>();
  for (const { reason } of rejected) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return [...counts]
    .slice(0, 3)
    .map(([reason, count]) => (count === 1 ? reason : `${reason} (${counted(count, 'row')})`))
    .join(' ');
}

/**
 * Returns the row as ASCII JSON, which every database accepts in any encoding: an object of its
 * columns, each value the sent text or null.
 */
export function recordText(columns: Pick<Column, 'name'>[], values: ValueRow): string {
  const entries = columns.map(({ name }, index) => [name, values[index] ?? null]);
  return JSON.stringify(Object.fromEntries(entries)).replaceAll(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Returns the values that `recordText` encoded, or undefined for any other text. */
export function valuesOfRecord(
  columns: Pick<Column, 'name'>[],
  text: string,
): ValueRow | undefined {
  try {
    const record = JSON.parse(text) as Record<string, unknown>;
    return columns.map(({ name }) => {
      const value = record[name] ?? null;
      return value === null ? null : typeof value === 'string' ? value : JSON.stringify(value);
    });
  } catch {
    return undefined;
  }
}
