import type {
  DeliveredSlices,
  DestinationDefinition,
  DestinationDeps,
  Seal,
} from '../../model/destination/destination.ts';
import type { ContentSource } from '../../model/destination/content_source.ts';
import type { AccountedNames, Difference } from '../../model/destination/difference.ts';
import type { Column } from '../../model/models/column.ts';
import type { Config, LakePlace } from '../lake/place.ts';
import { nestedFaults, ofPlaces, placeConfig, placeOf, teamOf } from '../lake/table_places.ts';
import { catalog_keys, catalog_meaning, isForeign } from './catalogs/catalog_config.ts';
import type { CatalogConfig } from './catalogs/catalog_config.ts';
import { checkForeign } from './check.ts';
import { configSchema, lakeFolder, version_keys, violations } from './config.ts';
import { layoutViolations, layout_keys, sortedBy } from '../lake/layout.ts';
import { compareListed, sealListed } from '../lake/listed_files.ts';
import { liveFiles } from './live_files.ts';
import { openMergeSink } from '../lake/merge/merge_sink.ts';
import { isMerging } from '../lake/merge/state.ts';
import { openMergedTable } from './merge/merged_table.ts';
import { apartMoved, compareMoved } from './moved_rows.ts';
import { openTableSink } from './sink.ts';
import { partsOf } from './parts.ts';
import { compareMerged } from './merge/compare_merged.ts';
import { openTableFiles } from './table_files.ts';
import { shownReceipts } from './verify.ts';
import { openWorld } from './open_world.ts';
import type { World } from './world.ts';

/**
 * Defines the destination of Iceberg tables, with their files in one of these places. Guarantee: a
 * place's promises for files also apply to those of tables.
 */
export function defineIceberg(places: readonly LakePlace[]): DestinationDefinition {
  const shared = ofPlaces(places);
  return {
    type: 'Iceberg',
    label: 'Iceberg',
    config: configSchema(places),
    ...shared,
    secrets: [...catalog_meaning.secrets, ...shared.secrets],
    where: [...catalog_meaning.where, ...shared.where],
    connection: [...Object.keys(catalog_keys), ...shared.connection],
    only_with: [...catalog_meaning.only_with, ...(shared.only_with ?? [])],
    // Rows stay in their table: the layout of new files moves none, and the prefix only places new
    // tables.
    ways: [...catalog_meaning.ways, ...Object.keys({ ...version_keys, ...layout_keys }), 'prefix'],
    columnFaults: (columns) => nestedFaults(columns, 'An Iceberg table'),
    // The table changes with the end of the run, and a check waits for a change in progress.
    is_settled_by_abort: (config) => !isForeign(config as CatalogConfig),
    erases: 'in_table',
    validate: (config, rules) => violations(places, config, rules),
    changes_rows: true,
    layoutViolations,
    tableParts: (config, delivery, given) =>
      partsOf(placeOf(places, config), config, delivery, given),
    sortedBy: sliceOrder,
    open: async (config, delivery, deps) => {
      const place = placeOf(places, config);
      const world = await openWorld(place, config, delivery.team_id, deps, delivery);
      const files = await place.definition.open(world.data, delivery, deps);
      const given = { files, order: sortedBy(config, delivery) };
      return isMerging(delivery)
        ? openMergeSink(openMergedTable(world, delivery, given), { ...given, deps, delivery })
        : openTableSink(world, delivery, given);
    },
    check: (config, columns, deps) => check(placeOf(places, config), config, columns, deps),
    verify: (config, delivered, source, deps) =>
      compared(places, config, { delivered, source, deps }, ({ place, data }, own) =>
        place.definition.verify(data, own, source, deps),
      ),
    verify_parts: {
      compare: (config, delivered, source, deps) =>
        compared(places, config, { delivered, source, deps }, ({ place, data }, own) =>
          place.definition.verify_parts!.compare(data, own, source, deps),
        ),
      findForeign: (config, accounted, deps) =>
        findForeign(placeOf(places, config), config, accounted, deps),
    },
    seals: (config, delivered, source, deps) =>
      sealsIn(places, config, { delivered, source, deps }),
    receipts: async function* (config, deps, wanted) {
      const team_id = await teamOf(deps, wanted.batch_export_id);
      if (team_id === undefined) return;
      yield* shownReceipts(await openWorld(placeOf(places, config), config, team_id, deps), wanted);
    },
    openTableFiles: (config, table, deps) =>
      openTableFiles(placeOf(places, config), config, table, deps),
  };
}

/** A merge sorts the rows of both sides itself. */
const sliceOrder: NonNullable<DestinationDefinition['sortedBy']> = (config, delivery) =>
  isMerging(delivery) ? [] : sortedBy(config, delivery);

function check(
  place: LakePlace,
  config: Config,
  columns: Column[],
  deps: DestinationDeps,
): ReturnType<DestinationDefinition['check']> {
  if (isForeign(config as CatalogConfig)) return checkForeign(place, config, columns, deps);
  // A test knows no project: it writes to the folder above the projects' folders.
  const folder = place.folder === undefined ? lakeFolder(place, config, 0) : 'lake';
  return place.definition.check(placeConfig(place, config, folder), columns, deps);
}

type Compared = { delivered: DeliveredSlices[]; source: ContentSource; deps: DestinationDeps };

/**
 * Lists differences of files, and of the table that names them. A merge rewrites all files of a
 * delivery: there, it compares the rows of the table.
 */
async function compared(
  places: readonly LakePlace[],
  config: Config,
  { delivered, source, deps }: Compared,
  compare: (world: World, own: DeliveredSlices[]) => Promise<Difference[]>,
): Promise<Difference[]> {
  const [first] = delivered;
  if (first === undefined) return [];
  const world = await openWorld(placeOf(places, config), config, first.delivery.team_id, deps);
  if (isMerging(first.delivery)) return compareMerged(world, delivered, source);
  // Without these, files that maintenance merged into others would be missing.
  const { own, moved } = await apartMoved(world, delivered);
  const live = await liveFiles(world);
  return [
    ...(await compare(world, own)),
    ...compareListed(live, (name) => world.root + name, own),
    ...(await compareMoved(world, live, moved)),
  ];
}

/**
 * Returns the seals of deliveries whose files stay, from the snapshot and the place's facts about
 * the files.
 */
async function sealsIn(
  places: readonly LakePlace[],
  config: Config,
  { delivered, source, deps }: Compared,
): Promise<Map<string, Seal> | undefined> {
  const [first] = delivered;
  if (first === undefined || isMerging(first.delivery)) return undefined;
  const place = placeOf(places, config);
  const world = await openWorld(place, config, first.delivery.team_id, deps);
  const { own, moved } = await apartMoved(world, delivered);
  const { root } = world;
  return sealListed(
    await place.definition.seals!(world.data, own, source, deps),
    await liveFiles(world),
    (name) => root + name,
    {
      own,
      moved: moved.map(({ delivery_id, successor }) => ({
        delivery_id,
        successor: successor && { name: successor.path, at: successor.path.slice(root.length) },
      })),
    },
    (name) => world.files.writtenAt(name),
  );
}

async function findForeign(
  place: LakePlace,
  config: Config,
  accounted: AccountedNames,
  deps: DestinationDeps,
): Promise<Difference[]> {
  // The catalog may know the bucket of the table, or keys to it.
  const data = isForeign(config as CatalogConfig)
    ? (await openWorld(place, config, 0, deps)).data
    : placeConfig(place, config, '');
  return place.definition.verify_parts!.findForeign(data, accounted, deps);
}
