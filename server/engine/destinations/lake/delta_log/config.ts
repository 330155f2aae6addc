import { layout_keys } from '../layout.ts';
import type { Config, LakePlace } from '../place.ts';
import { joined, placeConfig, tableSchema } from '../table_places.ts';

type TableConfig = { table: string; prefix?: string };

/** Returns the schema of a config: the keys of the table, and those of every place, each once. */
export function configSchema(places: readonly LakePlace[]) {
  return tableSchema(places, layout_keys, '<table>/');
}

/** Returns the name of the table. */
export function tableName(config: Config): string {
  return (config as TableConfig).table;
}

/**
 * Returns the folder of the table. If projects share the place, each has its own folder above it.
 */
export function tableFolder(place: LakePlace, config: Config, team_id: number): string {
  const own = place.folder === undefined ? '' : `${top_folder}/${team_id}`;
  const { prefix = '', table } = config as TableConfig;
  return joined(own, prefix, table);
}

/** The folder above the projects' folders, if they share the place. */
export const top_folder = 'delta';

/**
 * Returns the config of a table's data files. They lie directly in its folder: receipts are then in
 * a folder whose name begins with `_`, which other writers' `VACUUM` keeps.
 */
export function dataConfig(place: LakePlace, config: Config, team_id: number): Config {
  return { ...placeConfig(place, config, tableFolder(place, config, team_id)), is_parted: true };
}
