import type { BatchExport } from '../../../server/api/batch_exports/schema.ts';
import type { DestinationType } from '../../../server/api/destinations/schema.ts';

/** A mode as a form has it; empty: the model decides. */
export type TypedMode = NonNullable<BatchExport['mode']> | '';

type Content = { model: BatchExport['model']; is_query: boolean };

/** The ways in which rows go into a table, each with a sentence about it. */
export const mode_choices: { value: TypedMode; label: string; hint: string }[] = [
  {
    value: '',
    label: 'By model',
    hint: 'Events are added. Persons and their distinct ids are updated.',
  },
  { value: 'append', label: 'Append', hint: 'Sluice adds each row and changes none.' },
  {
    value: 'merge',
    label: 'Merge',
    hint: 'The table keeps one row for each key: the one with the greatest version.',
  },
  {
    value: 'replace',
    label: 'Replace',
    hint: 'Each run writes all rows anew. Whatever else is in the table is deleted.',
  },
];

/** The names in a text, in their order. */
export function namesIn(text: string): string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

/** The text with one more name. */
export function withName(text: string, name: string): string {
  return [...namesIn(text), name].join(', ');
}

/** The keys to begin with: those of a model, none of a query. */
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
 * The columns that a key may have: those of the model, or of a query the columns of its first rows
 * (`seen`), whose types are not known here.
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
