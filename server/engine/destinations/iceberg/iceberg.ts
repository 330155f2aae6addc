import sql from 'sql-template-tag';
import type {
  DeliveredSlices,
  DestinationDefinition,
  DestinationDeps,
} from '../../model/destination/destination.ts';
import type { Difference } from '../../model/destination/difference.ts';
import type { Column } from '../../model/models/column.ts';
import type { Config, LakePlace } from '../lake/place.ts';
import {
  catalog_keys,
  catalog_only_with,
  catalog_secrets,
  catalog_ways,
  catalog_where,
  isForeign,
  takesVendedKeys,
} from './catalogs/catalog_config.ts';
import type { CatalogConfig } from './catalogs/catalog_config.ts';
import { checkForeign } from './check.ts';
import { configSchema, lakeFolder, ownKeys, placeConfig, placeOf, violations } from './config.ts';
import { openTableSink } from './sink.ts';
import { compareListed, shownReceipts } from './verify.ts';
import { openWorld } from './open_world.ts';
import type { World } from './world.ts';

type Keys = 'secrets' | 'where' | 'connection';

/**
 * Defines the destination of Iceberg tables, with their files in one of these places. Guarantee: whatever a place promises for files holds for those of tables.
 */
export function defineIceberg(places: readonly LakePlace[]): DestinationDefinition {
  const definitions = places.map(({ definition }) => definition);
  const keys = (name: Keys) => [
    ...new Set(definitions.flatMap((definition) => definition[name] ?? [])),
  ];
  return {
    type: 'Iceberg',
    label: 'Iceberg',
    config: configSchema(places),
    secrets: [...catalog_secrets, ...keys('secrets')],
    where: ['storage', ...catalog_where, ...keys('where')],
    connection: [...Object.keys(catalog_keys), ...keys('connection')],
    ways: catalog_ways,
    only_with: onlyWith(places),
    place: (config) => placeOf(places, config).definition.place?.(config) ?? '',
    host: (config) => placeOf(places, config).definition.host?.(config),
    column_set: 'files',
    columnFaults: nestedFaults,
    // The table changes with the end of the run, and whoever looks waits for a change in progress.
    is_settled_by_abort: (config) => !isForeign(config as CatalogConfig),
    validate: (config, rules) => violations(places, config, rules),
    encoding: () => ({ format: 'Parquet', compression: 'zstd' }),
    open: async (config, delivery, deps) => {
      const place = placeOf(places, config);
      const world = await openWorld(place, config, delivery.team_id, deps, delivery);
      return openTableSink(
        world,
        delivery,
        await place.definition.open(world.data, delivery, deps),
      );
    },
    check: (config, columns, deps) => {
      const place = placeOf(places, config);
      if (isForeign(config as CatalogConfig)) return checkForeign(place, config, columns, deps);
      // A test knows no project: it writes to the folder above those of projects.
      const folder = place.folder === undefined ? lakeFolder(place, config, 0) : 'lake';
      return place.definition.check(placeConfig(place, config, folder), columns, deps);
    },
    verify: (config, delivered, source, deps) =>
      listed(config, delivered, deps, ({ place, data }) =>
        place.definition.verify(data, delivered, source, deps),
      ),
    verify_parts: {
      compare: (config, delivered, source, deps) =>
        listed(config, delivered, deps, ({ place, data }) =>
          place.definition.verify_parts!.compare(data, delivered, source, deps),
        ),
      findForeign: async (config, accounted, deps) => {
        const place = placeOf(places, config);
        const { findForeign } = place.definition.verify_parts!;
        const data = takesVendedKeys(config as CatalogConfig)
          ? (await openWorld(place, config, 0, deps)).data
          : placeConfig(place, config, '');
        return findForeign(data, accounted, deps);
      },
    },
    receipts: async function* (config, deps, wanted) {
      const team_id = await teamOf(deps, wanted.batch_export_id);
      if (team_id === undefined) return;
      yield* shownReceipts(await openWorld(placeOf(places, config), config, team_id, deps), wanted);
    },
  };

  /** Lists differences of files, and of the table that names them. */
  async function listed(
    config: Config,
    delivered: DeliveredSlices[],
    deps: DestinationDeps,
    compare: (world: World) => Promise<Difference[]>,
  ): Promise<Difference[]> {
    const team_id = delivered[0]?.delivery.team_id;
    if (team_id === undefined) return [];
    const world = await openWorld(placeOf(places, config), config, team_id, deps);
    return [...(await compare(world)), ...(await compareListed(world, delivered))];
  }
}

/** Lists and maps have fields of their own in a table, with ids; our Parquet has none for them. */
function nestedFaults(columns: Column[]): string[] {
  return columns
    .filter(({ nested }) => nested !== undefined)
    .map(({ name }) => `An Iceberg table takes no list or map: write toJSONString(${name}).`);
}

/** The project of an export; undefined if it is gone. */
async function teamOf({ db }: DestinationDeps, id: string): Promise<number | undefined> {
  const row = await db?.row<{ team_id: number }>(
    sql`SELECT team_id FROM batch_exports WHERE id = ${id}::uuid`,
  );
  return row?.team_id;
}

/** Keys of one place alone are asked for only with it. */
function onlyWith(places: readonly LakePlace[]): DestinationDefinition['only_with'] {
  const storages = new Map<string, string[]>();
  for (const { definition } of places)
    for (const key of ownKeys(definition))
      storages.set(key, [...(storages.get(key) ?? []), definition.type]);
  return [
    ...[...storages].map(([key, values]) => ({ keys: [key], key: 'storage', values })),
    ...places.flatMap(({ definition }) => definition.only_with ?? []),
    ...catalog_only_with,
  ];
}
