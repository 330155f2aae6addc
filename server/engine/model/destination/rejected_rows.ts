import { hash } from 'node:crypto';
import type { ValueRow } from './content_source.ts';
import type { Column } from '../models/column.ts';
import { NonRetryableError } from './errors.ts';
import { counted } from '../../../platform/counted.ts';

/** Treatment of rows that a destination refuses for their content. */
export const rejected_rows_modes = ['stop', 'set_aside'] as const;

/** Most rows of a run that may be set aside whatever `rejected_rows_max` of the export says. */
export const rejected_rows_limit = 10_000;

/** Default for an export without the field. */
export const rejected_rows_default = 1_000;
/** Default for an export without the field. */
export const rejected_percent_default = 10;

/** As a share of a run, so few rows are never too many. */
const uncounted_share = 10;

/** An export's policy for refused rows. */
export type RejectedRowsPolicy = {
  rejected_rows: (typeof rejected_rows_modes)[number];
  rejected_rows_max: number;
  rejected_percent_max: number;
};

/** A row that the destination refused, with its values as they were sent. */
export type RejectedRow = { values: ValueRow; code: string; reason: string };

/** A row that was set aside: a hash of its key (`rejectedKey`), and why. */
export type RejectedKey = { key: string | null; code: string };

/** Counts the rows of the slices that were set aside. */
export function rejectedCount(outcomes: { rejected?: RejectedKey[] }[]): number {
  return outcomes.reduce((sum, { rejected = [] }) => sum + rejected.length, 0);
}

/** Returns the number of a run's rows that may be set aside. */
export function rejectedRowsMax(policy: RejectedRowsPolicy, records: number): number {
  const share = Math.floor((records * policy.rejected_percent_max) / 100);
  return Math.min(policy.rejected_rows_max, Math.max(share, uncounted_share));
}

/** The error of a run that would set more rows aside than it may; names the first reasons. */
export function tooManyRejected(rows_max: number, rejected: RejectedRow[]): NonRetryableError {
  return new NonRetryableError(
    'too_many_rejected',
    `The destination refused more than ${rows_max} rows, the most that a run may set aside ` +
      '(rejected_rows_max, rejected_percent_max). The run delivered nothing. The first reasons: ' +
      reasonsOf(rejected),
  );
}

/** A hash of the key of a row, by which `find` knows it; null where it has no key. */
export function rejectedKey(key: string | null | undefined): string | null {
  return typeof key === 'string' ? hash('sha256', key).slice(0, 32) : null;
}

/** The first three different reasons, with how many rows each has. */
export function reasonsOf(rejected: RejectedRow[]): string {
  const counts = new Map<string, number>();
  for (const { reason } of rejected) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return [...counts]
    .slice(0, 3)
    .map(([reason, count]) => (count === 1 ? reason : `${reason} (${counted(count, 'row')})`))
    .join(' ');
}

/**
 * The row as JSON in ASCII, which every database takes whatever its encoding: an object of its
 * columns, each value the text that was sent, or null.
 */
export function recordText(columns: Pick<Column, 'name'>[], values: ValueRow): string {
  const entries = columns.map(({ name }, index) => [name, values[index] ?? null]);
  return JSON.stringify(Object.fromEntries(entries)).replaceAll(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** The values that `recordText` was made of, or undefined for another text. */
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
