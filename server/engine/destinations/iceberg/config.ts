import { Type } from 'typebox';
import type { ConfigViolation, OperatorRules } from '../../model/destination/destination.ts';
import { defaultText } from '../../model/destination/config_keys.ts';
import { violation } from '../../model/destination/violation.ts';
import { catalog_keys, catalogViolations, takesVendedKeys } from './catalogs/catalog_config.ts';
import type { CatalogConfig } from './catalogs/catalog_config.ts';
import type { Config, LakePlace } from '../lake/place.ts';
import { isName, joined, placeConfig, tableSchema, tableViolations } from '../lake/table_places.ts';
import { layout_keys } from '../lake/layout.ts';

/** The keys of a table, for any place of its files. */
type TableConfig = {
  namespace?: string;
  table: string;
  prefix?: string;
  format_version?: number;
};

/** The default of `namespace`. */
const usual_namespace = 'sluice';

/** The key of a table's format version. */
export const version_keys = {
  format_version: Type.Optional(
    Type.Integer({
      minimum: 2,
      maximum: 3,
      default: 2,
      description:
        'The format version of a new table. 3 gives each row an id that it keeps (row lineage), ' +
        'and upgrades a table of version 2; readers must know version 3. No table goes back to 2.',
    }),
  ),
};

/** Returns the format version that the config asks for. */
export function askedVersion(config: Config): number {
  return tableConfig(config).format_version ?? 2;
}

/** Returns the schema of a config: the keys of the table, and those of every place, each once. */
export function configSchema(places: readonly LakePlace[]) {
  const namespace = defaultText(
    usual_namespace,
    255,
    'Readers find the table by it. It may have several levels, with dots between them.',
  );
  const own = { namespace, ...catalog_keys, ...layout_keys, ...version_keys };
  return tableSchema(places, own, '<namespace>/<table>/');
}

/** Returns the name of the table in the catalog. */
export function tableName(config: Config): { levels: string[]; name: string } {
  const { namespace = usual_namespace, table } = tableConfig(config);
  return { levels: namespace.split('.'), name: table };
}

/** Returns the folder of a project's namespaces in their place, without outer slashes. */
export function lakeFolder(place: LakePlace, config: Config, team_id: number): string {
  return joined(place.folder?.(team_id) ?? '', tableConfig(config).prefix ?? '');
}

/** Returns the folder of the table's files. */
export function tableFolder(place: LakePlace, config: Config, team_id: number): string {
  const { levels, name } = tableName(config);
  return joined(lakeFolder(place, config, team_id), ...levels, name);
}

/** Returns the config of a table's data files. */
export function dataConfig(place: LakePlace, config: Config, team_id: number): Config {
  return placeConfig(place, config, `${tableFolder(place, config, team_id)}/data`);
}

/** Checks rules that the schema cannot express. */
export function violations(
  places: readonly LakePlace[],
  config: Config,
  rules?: OperatorRules,
): ConfigViolation[] {
  const { namespace = usual_namespace } = tableConfig(config);
  const asked = config as CatalogConfig;
  const levels = namespace.split('.');
  // The catalog issues the credentials, so here they only need placeholders.
  const vended = takesVendedKeys(asked)
    ? { aws_access_key_id: 'vended', aws_secret_access_key: 'vended' }
    : {};
  const found = [
    ...catalogViolations(asked, levels.length),
    ...tableViolations(places, { ...config, ...vended }, rules),
  ];
  if (levels.every(isName)) return found;
  return [
    violation(
      'namespace',
      'Each level of the namespace has lower-case letters, digits and underscores, and begins ' +
        'with a letter.',
    ),
    ...found,
  ];
}

function tableConfig(config: Config): TableConfig {
  return config as TableConfig;
}
