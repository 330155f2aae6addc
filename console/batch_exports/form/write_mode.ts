import type { BatchExport } from '../../../server/api/batch_exports/schema.ts';
import type { DestinationType } from '../../../server/api/destinations/schema.ts';

/** A mode in a form; empty: the model decides. */
export type TypedMode = NonNullable<BatchExport['mode']> | '';

type Content = { model: BatchExport['model']; is_query: boolean };

/** The ways to write rows into a table, each with a sentence. */
export const mode_choices: { value: TypedMode; label: string; hint: string }[] = [
  {
    value: '',
    label: 'By model',
    hint: 'Events are added. Persons and their distinct ids are updated.',
  },
  { value: 'append', label: 'Append', hint: 'Sluice adds rows and changes none.' },
  {
    value: 'merge',
    label: 'Merge',
    hint: 'The table keeps one row for each key: the row with the greatest version.',
  },
  {
    value: 'replace',
    label: 'Replace',
    hint: 'Each run replaces all rows of the table. Other rows in the table are deleted.',
  },
];

/** Returns the names in a text, in order. */
export function namesIn(text: string): string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

/** Returns the text with one more name. */
export function withName(text: string, name: string): string {
  return [...namesIn(text), name].join(', ');
}

/** Returns the default keys: the model's keys, and none for a query. */
export function usualKeys({
  model,
  is_query,
}: Content): Record<'primary_key' | 'version_key', string> {
  if (is_query) return { primary_key: '', version_key: '' };
  if (model === 'events') return { primary_key: 'uuid', version_key: 'inserted_at' };
  return {
    primary_key: 'team_id, distinct_id',
    version_key: model === 'persons' ? 'person_version, person_distinct_id_version' : 'version',
  };
}

const version_types = ['integer', 'timestamp'];
const key_types = [...version_types, 'uuid', 'text', 'boolean'];

/**
 * Returns the possible key columns: the model's columns, or for a query the columns of its first
 * rows (`seen`), whose types are unknown here.
 */
export function offeredColumns(
  { model, is_query }: Content,
  type: Pick<DestinationType, 'models'> | undefined,
  seen: readonly string[],
): Record<'primary_key' | 'version_key', string[]> {
  if (is_query) return { primary_key: [...seen], version_key: [...seen] };
  const columns = type?.models.find((one) => one.model === model)?.columns ?? [];
  const of = (types: string[]) =>
    columns.filter((one) => types.includes(one.type)).map(({ name }) => name);
  return { primary_key: of(key_types), version_key: of(version_types) };
}
