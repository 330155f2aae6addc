import { Type } from 'typebox';
import type { TSchema } from 'typebox';
import type {
  ConfigViolation,
  DestinationDefinition,
  OperatorRules,
} from '../../model/destination/destination.ts';
import { defaultText, requiredText } from '../../model/destination/config_keys.ts';
import { violation } from '../../model/destination/violation.ts';
import { catalog_keys, catalogViolations, takesVendedKeys } from './catalogs/catalog_config.ts';
import type { CatalogConfig } from './catalogs/catalog_config.ts';
import { file_keys } from '../formats/file_config.ts';
import type { Config, LakePlace } from '../lake/place.ts';

/** The keys of a table, whatever the place of its files. */
type TableConfig = { storage: string; namespace?: string; table: string; prefix?: string };

/** Keys of files that a table decides itself. */
const decided = new Set(['prefix', 'partition_by', ...Object.keys(file_keys)]);

/** The default of `namespace`. */
const usual_namespace = 'sluice';

/** The schema of a config: the keys of the table, and those of every place, each once. */
export function configSchema(places: readonly LakePlace[]) {
  const own = Object.fromEntries(
    places.flatMap(({ definition }) => {
      const properties = definition.config.properties as Record<string, TSchema>;
      return ownKeys(definition).map((key) => [key, Type.Optional(properties[key]!)]);
    }),
  );
  return Type.Object(
    {
      storage: Type.Unsafe<string>({
        type: 'string',
        enum: places.map(({ definition }) => definition.type),
        description: 'The place of the files. `File` is the export folder of this server.',
      }),
      namespace: defaultText(
        usual_namespace,
        255,
        'Readers find the table by it. It may have several levels, with dots between them.',
      ),
      table: requiredText(255, 'Sluice creates the table if it is missing.'),
      prefix: Type.Optional(
        Type.String({
          maxLength: 500,
          default: '',
          description: 'The files lie below this folder, in `<namespace>/<table>/`.',
        }),
      ),
      ...catalog_keys,
      ...own,
    },
    { additionalProperties: false },
  );
}

/** Returns the keys of a place that a table does not decide itself. */
export function ownKeys({ config }: DestinationDefinition): string[] {
  return Object.keys(config.properties as object).filter((key) => !decided.has(key));
}

/** Returns the place that a config names. */
export function placeOf(places: readonly LakePlace[], config: Config): LakePlace {
  const { storage } = tableConfig(config);
  const place = places.find(({ definition }) => definition.type === storage);
  if (place === undefined) throw new Error(`There is no storage ${storage}.`);
  return place;
}

/** The name of the table in the catalog. */
export function tableName(config: Config): { levels: string[]; name: string } {
  const { namespace = usual_namespace, table } = tableConfig(config);
  return { levels: namespace.split('.'), name: table };
}

/** The folder of the namespaces of a project in their place, without slashes at its ends. */
export function lakeFolder(place: LakePlace, config: Config, team_id: number): string {
  const parts = [place.folder?.(team_id) ?? '', tableConfig(config).prefix ?? ''];
  return parts
    .join('/')
    .split('/')
    .filter((part) => part !== '')
    .join('/');
}

/** The folder of the table's files. */
export function tableFolder(place: LakePlace, config: Config, team_id: number): string {
  const { levels, name } = tableName(config);
  const above = lakeFolder(place, config, team_id);
  return [...(above === '' ? [] : [above]), ...levels, name].join('/');
}

/** A config for the destination of a place, with files of tables below a folder. */
export function placeConfig({ definition }: LakePlace, config: Config, folder: string): Config {
  const known = ownKeys(definition);
  return {
    ...Object.fromEntries(Object.entries(config).filter(([key]) => known.includes(key))),
    prefix: folder,
    file_format: 'Parquet',
    compression: 'zstd',
  };
}

/** The config of a table's data files. */
export function dataConfig(place: LakePlace, config: Config, team_id: number): Config {
  return placeConfig(place, config, `${tableFolder(place, config, team_id)}/data`);
}

/** Violations of rules that the schema cannot say. */
export function violations(
  places: readonly LakePlace[],
  config: Config,
  rules?: OperatorRules,
): ConfigViolation[] {
  const { namespace = usual_namespace, table, prefix = '' } = tableConfig(config);
  const found: ConfigViolation[] = [];
  if (!namespace.split('.').every(isName))
    found.push(
      violation(
        'namespace',
        'Each level of the namespace has lower-case letters, digits and underscores, and begins ' +
          'with a letter.',
      ),
    );
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
  found.push(...catalogViolations(config as CatalogConfig, namespace.split('.').length));
  if (found.some(({ code }) => code === 'required')) return found;
  // The catalog is to hand out the keys, so here they only have to be some.
  const vended = takesVendedKeys(config as CatalogConfig)
    ? { aws_access_key_id: 'vended', aws_secret_access_key: 'vended' }
    : {};
  const asked = { ...placeConfig(place, config, prefix), ...vended };
  return [...found, ...place.definition.validate(asked, rules)];
}

/** Readers such as Athena and BigQuery take no other names without quotes. */
function isName(text: string): boolean {
  return /^[a-z][a-z0-9_]*$/.test(text);
}

function tableConfig(config: Config): TableConfig {
  return config as TableConfig;
}
