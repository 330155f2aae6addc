import type {
  DeliveredSlices,
  DestinationDefinition,
  DestinationDeps,
} from '../../model/destination/destination.ts';
import type { ContentSource } from '../../model/destination/content_source.ts';
import type { Difference } from '../../model/destination/difference.ts';
import type { Config, LakePlace } from '../lake/place.ts';
import { nestedFaults, ofPlaces, placeConfig, placeOf, teamOf } from '../lake/table_places.ts';
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
import { configSchema, lakeFolder, violations } from './config.ts';
import { askedFields, layoutViolations, layout_keys, sortedBy, usualFields } from './layout.ts';
import { openMergeSink } from './merge/merge_sink.ts';
import { isMerging } from './merge/state.ts';
import { openTableSink } from './sink.ts';
import { requireColumns, tableFields } from './table.ts';
import { compareMerged } from './merge/compare_merged.ts';
import { compareTable, shownReceipts } from './verify.ts';
import { openCatalog, openWorld } from './open_world.ts';
import type { World } from './world.ts';

/**
 * Defines the destination of Iceberg tables, with their files in one of these places. Guarantee:
 * whatever a place promises for files holds for those of tables.
 */
export function defineIceberg(places: readonly LakePlace[]): DestinationDefinition {
  const shared = ofPlaces(places);
  return {
    type: 'Iceberg',
    label: 'Iceberg',
    config: configSchema(places),
    ...shared,
    secrets: [...catalog_secrets, ...shared.secrets],
    where: [...catalog_where, ...shared.where],
    connection: [...Object.keys(catalog_keys), ...shared.connection],
    only_with: [...catalog_only_with, ...(shared.only_with ?? [])],
    // The layout of files says not where rows are either: they stay in their table.
    ways: [...catalog_ways, ...Object.keys(layout_keys)],
    columnFaults: (columns) => nestedFaults(columns, 'An Iceberg table'),
    // The table changes with the end of the run, and whoever looks waits for a change in progress.
    is_settled_by_abort: (config) => !isForeign(config as CatalogConfig),
    validate: (config, rules) => violations(places, config, rules),
    changes_rows: true,
    layoutViolations,
    tableParts: async (config, delivery, { is_row_wise, deps }) => {
      const is_whole = isMerging(delivery);
      const asked = askedFields(config);
      if (asked !== undefined) return { fields: asked, is_whole };
      const catalog = await openCatalog(placeOf(places, config), config, delivery.team_id, deps);
      const fields = (await tableFields(catalog, config)) ?? usualFields(delivery, is_row_wise);
      requireColumns(config, fields, delivery.columns);
      return { fields, is_whole };
    },
    // A merge sorts the rows of both sides itself.
    sortedBy: (config, delivery) => (isMerging(delivery) ? [] : sortedBy(config, delivery)),
    open: async (config, delivery, deps) => {
      const place = placeOf(places, config);
      const world = await openWorld(place, config, delivery.team_id, deps, delivery);
      const files = await place.definition.open(world.data, delivery, deps);
      const order = sortedBy(config, delivery);
      return isMerging(delivery)
        ? openMergeSink({ world, delivery, files, order })
        : openTableSink(world, delivery, { files, order });
    },
    check: (config, columns, deps) => {
      const place = placeOf(places, config);
      if (isForeign(config as CatalogConfig)) return checkForeign(place, config, columns, deps);
      // A test knows no project: it writes to the folder above those of projects.
      const folder = place.folder === undefined ? lakeFolder(place, config, 0) : 'lake';
      return place.definition.check(placeConfig(place, config, folder), columns, deps);
    },
    verify: (config, delivered, source, deps) =>
      compareMergedOr(config, delivered, source, deps) ??
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

  /** A merge leaves no file of a delivery as it was: the rows of the table are compared. */
  function compareMergedOr(
    config: Config,
    delivered: DeliveredSlices[],
    source: ContentSource,
    deps: DestinationDeps,
  ): Promise<Difference[]> | undefined {
    const [first] = delivered;
    if (first === undefined || !isMerging(first.delivery)) return undefined;
    return openWorld(placeOf(places, config), config, first.delivery.team_id, deps).then((world) =>
      compareMerged(world, delivered, source),
    );
  }

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
    return [...(await compare(world)), ...(await compareTable(world, delivered))];
  }
}
