import type { DestinationDeps } from '../../model/destination/destination.ts';
import type { Config, LakePlace } from '../lake/place.ts';
import { openOwnCatalog } from './catalogs/own_catalog.ts';
import type { World } from './world.ts';

/** Opens the place of a table and its catalog; makes no request yet. */
export async function openWorld(
  place: LakePlace,
  config: Config,
  team_id: number,
  deps: DestinationDeps,
): Promise<World> {
  const { db, clock } = deps;
  if (db === undefined || clock === undefined) throw new Error('A table needs the control store.');
  const root = place.root(config, deps);
  const files = await place.openFiles(config, deps);
  const storage = { place, config, deps, clock, files, root, team_id };
  return { ...storage, catalog: openOwnCatalog(storage, db) };
}
