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
    hint: 'Events are added. Persons, distinct ids, sessions and groups are updated.',
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

type Keys = Record<'primary_key' | 'version_key', string>;

const usual_keys: Record<Content['model'], Keys> = {
  events: { primary_key: 'uuid', version_key: 'inserted_at' },
  persons: {
    primary_key: 'team_id, distinct_id',
    version_key: 'person_version, person_distinct_id_version',
  },
  person_distinct_ids: { primary_key: 'team_id, distinct_id', version_key: 'version' },
  sessions: { primary_key: 'team_id, session_id', version_key: 'session_version' },
  groups: { primary_key: 'team_id, group_id', version_key: 'group_version' },
};

/** Returns the default keys: the model's keys, and none for a query. */
export function usualKeys({ model, is_query }: Content): Keys {
  return is_query ? { primary_key: '', version_key: '' } : usual_keys[model];
}

/** Returns the keys for another model: typed keys stay, the former model's are replaced. */
export function keysFor(model: Content['model'], before: Content & Keys): Keys {
  const { primary_key, version_key } = before;
  const usual = usualKeys(before);
  const is_usual = primary_key === usual.primary_key && version_key === usual.version_key;
  return is_usual ? usualKeys({ ...before, model }) : { primary_key, version_key };
}

/** The result of a second delivery of rows to their table, after a restart. */
export type RowsAgain = 'twice' | 'merged' | 'replaced';

/** Returns what a restart of the export does to the rows of its table. */
export function rowsAgain(
  { mode, model, is_query }: Content & { mode: TypedMode },
  type: Pick<DestinationType, 'group'> | undefined,
): RowsAgain {
  if (mode === 'replace') return 'replaced';
  const is_database = ['Databases', 'Warehouses'].includes(type?.group ?? '');
  const merges_model = mode === '' && model !== 'events' && !is_query && is_database;
  return mode === 'merge' || merges_model ? 'merged' : 'twice';
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
