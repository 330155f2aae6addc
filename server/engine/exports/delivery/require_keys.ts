import { counted } from '../../../platform/counted.ts';
import { nullableKeys } from '../../destinations/sql_tables/merging.ts';
import { rowError } from '../../model/destination/errors.ts';
import { ask } from '../source/source.ts';
import { readingOf } from './attempt.ts';
import type { WatchedAttempt } from './attempt.ts';

/**
 * Refuses rows without a value in a column of the merge key, before anything is written, and names
 * the column. A delivery that sets rows aside leaves that to the table, which rejects NULL there.
 */
export async function requireKeys(attempt: WatchedAttempt): Promise<void> {
  const { engine, delivery, signal } = attempt;
  const names = delivery.rejects === undefined ? nullableKeys(delivery) : [];
  if (names.length === 0) return;
  const reading = await readingOf(attempt);
  const counts = names.map((name, index) => {
    const { expression } = delivery.columns.find((column) => column.name === name)!;
    return `toUInt64(countIf(isNull(${expression}))) AS k${index}`;
  });
  const [found = {}] = await ask<Record<string, string | number>>(engine, reading, {
    query: `SELECT ${counts.join(', ')} FROM ${reading.text}`,
    signal,
  });
  const lacking = names.flatMap((name, index) => {
    const rows = Number(found[`k${index}`] ?? 0);
    return rows === 0 ? [] : [`${counted(rows, 'row')} without a value of \`${name}\``];
  });
  if (lacking.length > 0)
    throw rowError(
      'null_key',
      `The export has ${lacking.join(' and ')}, a column of its primary_key. A row without its ` +
        'key equals no other one, so Sluice cannot merge it. Leave such rows out by the query ' +
        '(`WHERE ... IS NOT NULL`), or give them a value (`coalesce`).',
    );
}
