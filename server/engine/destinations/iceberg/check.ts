import { randomBytes } from 'node:crypto';
import type { Column } from '../../model/models/column.ts';
import type { CheckStep, DestinationDeps } from '../../model/destination/destination.ts';
import { tryOut } from '../../model/destination/try_out.ts';
import type { Step } from '../../model/destination/timed_steps.ts';
import type { Config, LakePlace } from '../lake/place.ts';
import { newSchema } from '../lake/schema.ts';
import type { Loaded, Peer } from './catalogs/peer.ts';
import { wayError } from './catalogs/catalog_faults.ts';
import { placeConfig } from '../lake/table_places.ts';
import { tableFolder } from './config.ts';
import { foreignData, keysOf, openPeer, openStorage } from './open_world.ts';

/**
 * Tests another vendor's catalog and the place of its files: signs in, finds the namespace, creates
 * its own table, writes below it, and drops it.
 */
export async function checkForeign(
  place: LakePlace,
  config: Config,
  columns: Column[],
  deps: DestinationDeps,
): Promise<CheckStep[]> {
  const name = `sluice_check_${randomBytes(6).toString('hex')}`;
  const own = { ...config, table: name };
  const state: { peer?: Peer; table?: Loaded; data?: Config } = {};
  const run = (steps: Step[], rest = deps) =>
    tryOut(steps, rest, wayError, 'The catalog refused it.');
  try {
    const steps = await run(catalogSteps(place, own, deps, state));
    if (state.data === undefined) return steps;
    const stored = await place.definition.check(state.data, columns, deps);
    return [...steps, ...stored, ...(await run([dropStep(state)]))];
  } finally {
    // A failed test leaves no table either, as far as the catalog allows.
    if (state.table !== undefined) await state.peer?.drop().catch(() => undefined);
  }
}

function catalogSteps(
  place: LakePlace,
  config: Config,
  deps: DestinationDeps,
  state: { peer?: Peer; table?: Loaded; data?: Config },
): Step[] {
  return [
    {
      name: 'Sign in to the catalog',
      run: async () => {
        state.peer = await openPeer(place, config, 0, deps);
        await state.peer.configure();
        return 'The catalog let us in.';
      },
    },
    {
      name: 'Find the namespace',
      run: async () => {
        if (await state.peer!.hasNamespace()) return 'The namespace exists.';
        await state.peer!.createNamespace();
        return 'The namespace was missing and was created.';
      },
    },
    {
      name: 'Create a table',
      run: async () => {
        const location = place.root(config, deps) + tableFolder(place, config, 0);
        const schema = newSchema([{ name: 'checked', type: 'text' }]);
        state.table = await state.peer!.create({ location, schema, properties: {} });
        const opened = { ...config, ...keysOf(config, state.table) };
        // A test knows no project: in the export folder, it writes above the projects' folders.
        state.data =
          place.folder === undefined
            ? foreignData(await openStorage(place, opened, 0, deps), state.table, '')
            : placeConfig(place, config, 'lake');
        return `It was created in ${state.table.metadata.location}.`;
      },
    },
  ];
}

function dropStep(state: { peer?: Peer; table?: Loaded }): Step {
  return {
    name: 'Drop the table',
    run: async () => {
      await state.peer!.drop();
      delete state.table;
      return 'The table is gone again.';
    },
  };
}
