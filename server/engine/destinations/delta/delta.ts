import type { ContentSource } from '../../model/destination/content_source.ts';
import { tryOut } from '../../model/destination/try_out.ts';
import type {
  CheckStep,
  DeliveredSlices,
  DestinationDefinition,
  DestinationDeps,
} from '../../model/destination/destination.ts';
import type { Difference } from '../../model/destination/difference.ts';
import { layout_keys, sortedBy } from '../lake/layout.ts';
import { isMerging } from '../lake/merge/state.ts';
import { accountedNames } from '../formats/foreign_files.ts';
import type { Config, LakePlace } from '../lake/place.ts';
import {
  joined,
  nestedFaults,
  ofPlaces,
  placeConfig,
  placeOf,
  tableViolations,
  teamOf,
} from '../lake/table_places.ts';
import { configSchema, dataConfig, top_folder } from '../lake/delta_log/config.ts';
import { requirePutIfAbsent } from './probe.ts';
import { deltaLayoutViolations } from '../lake/delta_log/layout.ts';
import { partsOfRows } from './parts_of_rows.ts';
import { openTableSink } from './sink.ts';
import { compareTable, findForeign, sealTable, shownReceipts } from './verify.ts';
import { openWorld } from '../lake/delta_log/world.ts';

/**
 * Defines the destination of Delta tables, with their files in one of these places. Guarantee: a
 * place's promises for files also apply to those of tables.
 */
export function defineDelta(places: readonly LakePlace[]): DestinationDefinition {
  return {
    type: 'Delta',
    label: 'Delta Lake',
    config: configSchema(places),
    ...ofPlaces(places),
    // The layout of files does not decide where rows are: they stay in their table.
    ways: Object.keys(layout_keys),
    columnFaults: (columns) => nestedFaults(columns, 'A Delta table'),
    erases: 'in_table',
    // The version that a pending request could write is taken.
    is_settled_by_abort: true,
    changes_rows: true,
    validate: (config, rules) => tableViolations(places, config, rules),
    layoutViolations: deltaLayoutViolations,
    tableParts: async (config, delivery, { is_row_wise, deps }) =>
      partsOfRows(
        await inPlace(places, config).world(delivery.team_id, deps),
        delivery,
        is_row_wise,
      ),
    sortedBy: (config, delivery) => (isMerging(delivery) ? [] : sortedBy(config, delivery)),
    open: async (config, delivery, deps) => {
      const { place, world, data } = inPlace(places, config);
      const files = await place.definition.open(data(delivery.team_id), delivery, deps);
      const order = sortedBy(config, delivery);
      return openTableSink(await world(delivery.team_id, deps), delivery, { files, order });
    },
    check: (config, columns, deps) => check(placeOf(places, config), config, columns, deps),
    verify: async (config, delivered, source, deps) => {
      const names = delivered.flatMap(({ outcomes }) => outcomes.map(({ name }) => name));
      const { place, compare } = inPlace(places, config);
      return [
        ...(await compare(delivered, source, deps)),
        ...(await findForeign(place, config, accountedNames(names, names), deps)),
      ];
    },
    verify_parts: {
      compare: (config, delivered, source, deps) =>
        inPlace(places, config).compare(delivered, source, deps),
      findForeign: (config, accounted, deps) =>
        findForeign(placeOf(places, config), config, accounted, deps),
    },
    seals: async (config, delivered, source, deps) => {
      const team_id = delivered[0]?.delivery.team_id;
      if (team_id === undefined) return undefined;
      const { place, world, data } = inPlace(places, config);
      return sealTable(await world(team_id, deps), delivered, (own) =>
        place.definition.seals!(data(team_id), own, source, deps),
      );
    },
    receipts: async function* (config, deps, wanted) {
      const team_id = await teamOf(deps, wanted.batch_export_id);
      if (team_id === undefined) return;
      const { world, data } = inPlace(places, config);
      yield* shownReceipts(await world(team_id, deps), data(team_id), wanted);
    },
  };
}

/** A test knows no project: it writes to the folder above the projects' folders. */
async function check(
  place: LakePlace,
  config: Config,
  columns: Parameters<DestinationDefinition['check']>[1],
  deps: DestinationDeps,
): Promise<CheckStep[]> {
  const { prefix } = config as { prefix?: string };
  const folder = place.folder === undefined ? joined(prefix ?? '') : top_folder;
  const steps = await place.definition.check(placeConfig(place, config, folder), columns, deps);
  const left = (deps.steps_max ?? Infinity) - steps.length;
  if (left <= 0) return steps;
  const name = 'Refuse a second write of one name';
  if (steps.some(({ status }) => status !== 'passed'))
    return [
      ...steps,
      { name, status: 'skipped', detail: 'An earlier step failed.', duration_ms: 0 },
    ];
  const run = async () => {
    await requirePutIfAbsent(await place.openFiles(config, deps), folder);
    return 'The second write was refused, so two writers cannot replace the commits of each other.';
  };
  const refused = 'The store gave an answer that is not understood; the server log says more.';
  return [
    ...steps,
    ...(await tryOut([{ name, run }], { log: deps.log }, (error) => error, refused)),
  ];
}

function inPlace(places: readonly LakePlace[], config: Config) {
  const place = placeOf(places, config);
  const world = (team_id: number, deps: DestinationDeps) => openWorld(place, config, team_id, deps);
  return {
    place,
    data: (team_id: number) => dataConfig(place, config, team_id),
    world,
    /** Lists differences of files, and of the table that names them. */
    compare: async (
      delivered: DeliveredSlices[],
      source: ContentSource,
      deps: DestinationDeps,
    ): Promise<Difference[]> => {
      const team_id = delivered[0]?.delivery.team_id;
      if (team_id === undefined) return [];
      const { compare } = place.definition.verify_parts!;
      const data = dataConfig(place, config, team_id);
      return compareTable(await world(team_id, deps), delivered, source, (own) =>
        compare(data, own, source, deps),
      );
    },
  };
}
