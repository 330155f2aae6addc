import { counted } from '../page/text/quantities.ts';
import type { RetentionAnswer } from '../../server/api/retention/schema.ts';

/** Returns the effect of a setting as a sentence; `on` formats an instant. */
export function forecastOf(
  { retention, removes_before, events, persons }: Omit<RetentionAnswer, 'removals' | 'kept_by'>,
  on: (at: string) => string,
): string {
  if (retention === 'forever' || removes_before === null) return 'Nothing is removed.';
  const what = [
    ...(events.rows > 0 ? [counted(events.rows, 'event')] : []),
    ...(persons.rows > 0 ? [`${counted(persons.rows, 'replaced version')} of persons`] : []),
  ].join(' and ');
  const [first] = [events.oldest, persons.oldest].filter((at) => at !== null).toSorted();
  if (what === '' || first === undefined)
    return `It would remove nothing now. It applies to rows ingested before ${on(removes_before)}.`;
  return `It would remove ${what} now, ingested from ${on(first)} to ${on(removes_before)}.`;
}

/** Says which exports keep old rows; empty if none does. */
export function keptBy({ kept_by }: Pick<RetentionAnswer, 'kept_by'>): string {
  if (kept_by.length === 0) return '';
  const names = kept_by.slice(0, 3).map(({ name }) => `"${name}"`);
  const others = kept_by.length > 3 ? ` and ${kept_by.length - 3} more` : '';
  return `Older rows are kept for ${names.join(', ')}${others}, until delivered.`;
}
