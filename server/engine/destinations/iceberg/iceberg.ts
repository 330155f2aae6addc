import type {
  DeliveredSlices,
  DestinationDefinition,
  DestinationDeps,
} from '../../model/destination/destination.ts';
import type { Difference } from '../../model/destination/difference.ts';
import type { Config, LakePlace } from '../lake/place.ts';
import { nestedFaults, ofPlaces, placeConfig, placeOf, teamOf } from '../lake/table_places.ts';
import { compareListed } from '../lake/listed_files.ts';
import { configSchema, dataConfig, lakeFolder, violations } from './config.ts';
import { liveFiles } from './live_files.ts';
import { apartMoved, compareMoved } from './moved_rows.ts';
import { openTableSink } from './sink.ts';
import { openTableFiles } from './table_files.ts';
import { shownReceipts } from './verify.ts';
import { openWorld } from './open_world.ts';

/**
 * Defines the destination of Iceberg tables in our own catalog, with their files in one of these
 * places. Guarantee: whatever a place promises for files holds for those of tables.
 */
export function defineIceberg(places: readonly LakePlace[]): DestinationDefinition {
  return {
    type: 'Iceberg',
    label: 'Iceberg',
    config: configSchema(places),
    ...ofPlaces(places),
    columnFaults: (columns) => nestedFaults(columns, 'An Iceberg table'),
    // The table changes with the end of the run, and whoever looks waits for a change in progress.
    is_settled_by_abort: true,
    erases: 'in_table',
    validate: (config, rules) => violations(places, config, rules),
    open: async (config, delivery, deps) => {
      const { definition, world, data } = inPlace(places, config);
      const { team_id } = delivery;
      const files = await definition.open(data(team_id), delivery, deps);
      return openTableSink(await world(team_id, deps), delivery, files);
    },
    check: (config, columns, deps) => {
      const place = placeOf(places, config);
      // A test knows no project: it writes to the folder above those of projects.
      const folder = place.folder === undefined ? lakeFolder(place, config, 0) : 'lake';
      return place.definition.check(placeConfig(place, config, folder), columns, deps);
    },
    verify: (config, delivered, source, deps) => {
      const { definition, listed, data } = inPlace(places, config);
      return listed(delivered, deps, (team_id, own) =>
        definition.verify(data(team_id), own, source, deps),
      );
    },
    verify_parts: {
      compare: (config, delivered, source, deps) => {
        const { definition, listed, data } = inPlace(places, config);
        return listed(delivered, deps, (team_id, own) =>
          definition.verify_parts!.compare(data(team_id), own, source, deps),
        );
      },
      findForeign: (config, accounted, deps) => {
        const place = placeOf(places, config);
        const { findForeign } = place.definition.verify_parts!;
        return findForeign(placeConfig(place, config, ''), accounted, deps);
      },
    },
    receipts: async function* (config, deps, wanted) {
      const team_id = await teamOf(deps, wanted.batch_export_id);
      const { world } = inPlace(places, config);
      if (team_id !== undefined) yield* shownReceipts(await world(team_id, deps), wanted);
    },
    openTableFiles: (config, deps) => openTableFiles(placeOf(places, config), config, deps),
  };
}

function inPlace(places: readonly LakePlace[], config: Config) {
  const place = placeOf(places, config);
  const world = (team_id: number, deps: DestinationDeps) => openWorld(place, config, team_id, deps);
  return {
    definition: place.definition,
    data: (team_id: number) => dataConfig(place, config, team_id),
    world,
    /** Lists differences of files, and of the table that names them. */
    listed: async (
      delivered: DeliveredSlices[],
      deps: DestinationDeps,
      compare: (team_id: number, own: DeliveredSlices[]) => Promise<Difference[]>,
    ): Promise<Difference[]> => {
      const team_id = delivered[0]?.delivery.team_id;
      if (team_id === undefined) return [];
      const opened = await world(team_id, deps);
      // Without these, files that maintenance merged into others would be missing.
      const { own, moved } = await apartMoved(opened, delivered);
      const live = await liveFiles(opened);
      return [
        ...(await compare(team_id, own)),
        ...compareListed(live, (name) => opened.root + name, own),
        ...(await compareMoved(opened, live, moved)),
      ];
    },
  };
}
