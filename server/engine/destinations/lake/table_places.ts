import sql from 'sql-template-tag';
import { Type } from 'typebox';
import type { TSchema } from 'typebox';
import type {
  ConfigViolation,
  DestinationDefinition,
  DestinationDeps,
  OperatorRules,
} from '../../model/destination/destination.ts';
import { requiredText } from '../../model/destination/config_keys.ts';
import { violation } from '../../model/destination/violation.ts';
import type { Column } from '../../model/models/column.ts';
import { file_keys } from '../formats/file_config.ts';
import type { Config, LakePlace } from './place.ts';

/** Keys of files that a table sets itself. */
const decided = new Set(['prefix', 'partition_by', ...Object.keys(file_keys)]);

/** The keys of a table, for any format and any place of its files. */
type TableConfig = { storage: string; table: string; prefix?: string };

/**
 * Returns the schema of a table's config: `own` are keys of its format, `folder` describes the
 * place of its files below the prefix. The keys of every place follow, each once.
 */
export function tableSchema(
  places: readonly LakePlace[],
  own: Record<string, TSchema>,
  folder: string,
) {
  return Type.Object(
    {
      storage: Type.Unsafe<string>({
        type: 'string',
        enum: places.map(({ definition }) => definition.type),
        description: 'The place of the files. `File` is the export folder of this server.',
      }),
      table: requiredText(255, 'Sluice creates the table if it is missing.'),
      ...own,
      prefix: Type.Optional(
        Type.String({
          maxLength: 500,
          default: '',
          description: `The files lie below this folder, in \`${folder}\`.`,
        }),
      ),
      ...keysOf(places),
    },
    { additionalProperties: false },
  );
}

/**
 * Returns the keys of every place, each once: a shared key describes its meaning for each place.
 */
function keysOf(places: readonly LakePlace[]): Record<string, TSchema> {
  const found = new Map<string, { label: string; schema: TSchema }[]>();
  for (const { definition } of places)
    for (const key of ownKeys(definition)) {
      const schema = (definition.config.properties as Record<string, TSchema>)[key]!;
      found.set(key, [...(found.get(key) ?? []), { label: definition.label, schema }]);
    }
  const told = ({ schema }: { schema: TSchema }) =>
    (schema as { description?: string }).description;
  return Object.fromEntries(
    [...found].map(([key, uses]) => {
      const { schema } = uses[0]!;
      const differs = uses.some((use) => told(use) !== told(uses[0]!));
      const description = uses
        .filter((use) => told(use) !== undefined)
        .map((use) => `${use.label}: ${told(use)}`)
        .join(' ');
      return [key, Type.Optional(differs ? { ...schema, description } : schema)];
    }),
  );
}

/**
 * Bounds of the slices of a table. Two are written at a time, so a run of a million rows uses two
 * cores, and a crash repeats no more than elsewhere. Maintenance merges the files.
 */
const slices_most = { records_max: 500_000 };

/** Returns the parts of the definition of tables that come from its places. */
export function ofPlaces(places: readonly LakePlace[]) {
  const definitions = places.map(({ definition }) => definition);
  const keys = (name: 'secrets' | 'where' | 'connection') => [
    ...new Set(definitions.flatMap((definition) => definition[name] ?? [])),
  ];
  return {
    secrets: keys('secrets'),
    where: ['storage', ...keys('where')],
    connection: keys('connection'),
    only_with: onlyWith(places),
    place: (config: Config) => placeOf(places, config).definition.place?.(config) ?? '',
    host: (config: Config) => placeOf(places, config).definition.host?.(config),
    column_set: 'files',
    encoding: () => ({ format: 'Parquet', compression: 'zstd' }),
    slices_most,
  } satisfies Partial<DestinationDefinition>;
}

/** Returns the keys of a place that a table does not set itself. */
function ownKeys({ config }: DestinationDefinition): string[] {
  return Object.keys(config.properties as object).filter((key) => !decided.has(key));
}

/** Returns the place of a config. */
export function placeOf(places: readonly LakePlace[], config: Config): LakePlace {
  const { storage } = config as TableConfig;
  const place = places.find(({ definition }) => definition.type === storage);
  if (place === undefined) throw new Error(`There is no storage ${storage}.`);
  return place;
}

/** Returns a config for the destination of a place, with files of tables below a folder. */
export function placeConfig({ definition }: LakePlace, config: Config, folder: string): Config {
  const known = ownKeys(definition);
  return {
    ...Object.fromEntries(Object.entries(config).filter(([key]) => known.includes(key))),
    prefix: folder,
    file_format: 'Parquet',
    compression: 'zstd',
  };
}

/** Joins folders, without empty parts and outer slashes. */
export function joined(...folders: string[]): string {
  return folders
    .join('/')
    .split('/')
    .filter((part) => part !== '')
    .join('/');
}

/** Checks rules of a table and its place that the schema cannot express. */
export function tableViolations(
  places: readonly LakePlace[],
  config: Config,
  rules?: OperatorRules,
): ConfigViolation[] {
  const { table, prefix = '' } = config as TableConfig;
  const found: ConfigViolation[] = [];
  if (!isName(table))
    found.push(
      violation(
        'table',
        'The name of the table has lower-case letters, digits and underscores, and begins with a ' +
          'letter.',
      ),
    );
  if (/[{}]/.test(prefix))
    found.push(
      violation('prefix', 'The prefix of a table has no variables: all of its files lie below it.'),
    );
  const place = placeOf(places, config);
  const required = (place.definition.config['required'] ?? []) as string[];
  for (const key of required)
    if (!decided.has(key) && (config[key] ?? '') === '')
      found.push(
        violation(key, `This field is required for ${place.definition.label}.`, 'required'),
      );
  if (found.some(({ code }) => code === 'required')) return found;
  return [...found, ...place.definition.validate(placeConfig(place, config, prefix), rules)];
}

/** Readers such as Athena and BigQuery accept no other names without quotes. */
export function isName(text: string): boolean {
  return /^[a-z][a-z0-9_]*$/.test(text);
}

/** A table would need nested fields for lists and maps; `label` names its kind. */
export function nestedFaults(columns: Column[], label: string): string[] {
  return columns
    .filter(({ nested }) => nested !== undefined)
    .map(({ name }) => `${label} takes no list or map: write toJSONString(${name}).`);
}

/** Returns the project of an export; undefined if it is gone. */
export async function teamOf({ db }: DestinationDeps, id: string): Promise<number | undefined> {
  const row = await db?.row<{ team_id: number }>(
    sql`SELECT team_id FROM batch_exports WHERE id = ${id}::uuid`,
  );
  return row?.team_id;
}

/** Keys of a single place are only requested with it. */
function onlyWith(places: readonly LakePlace[]): NonNullable<DestinationDefinition['only_with']> {
  const storages = new Map<string, string[]>();
  for (const { definition } of places)
    for (const key of ownKeys(definition))
      storages.set(key, [...(storages.get(key) ?? []), definition.type]);
  return [
    ...[...storages].map(([key, values]) => ({ keys: [key], key: 'storage', values })),
    ...places.flatMap(({ definition }) => definition.only_with ?? []),
  ];
}
