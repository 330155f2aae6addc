import { NonRetryableError } from '../../../model/destination/errors.ts';

const columns = [
  'delivery_id',
  'number',
  'batch_export_id',
  'run_id',
  'slice',
  'code',
  'reason',
  'record',
  'rejected_at',
];

/** Refuses a table of this name that was not made for rejected rows. */
export function requireRejectedTable(table: string, found: { name: string }[]): void {
  const names = new Set(found.map(({ name }) => name));
  if (columns.every((name) => names.has(name))) return;
  throw new NonRetryableError(
    'table_unsuitable',
    `Refused rows go to the table ${table}, and that is a table of yours. Rename it, export to ` +
      'another table, or set rejected_rows to "stop".',
  );
}
