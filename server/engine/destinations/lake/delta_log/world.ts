import type { Clock } from '../../../../platform/clock.ts';
import type { DestinationDeps } from '../../../model/destination/destination.ts';
import type { Config, LakePlace } from '../place.ts';
import { tableFolder } from './config.ts';
import type { Log } from './log.ts';

/** A table in its place. */
export type World = {
  place: LakePlace;
  config: Config;
  deps: DestinationDeps;
  clock: Clock;
  log: Log;
  /** The folder of the table, without a trailing slash. */
  folder: string;
};

/** Opens the place of a table; makes no request yet. */
export async function openWorld(
  place: LakePlace,
  config: Config,
  team_id: number,
  deps: DestinationDeps,
): Promise<World> {
  const { clock } = deps;
  if (clock === undefined) throw new Error('A table needs the time of the control store.');
  const folder = tableFolder(place, config, team_id);
  const log = { files: await place.openFiles(config, deps), folder: `${folder}/_delta_log` };
  return { place, config, deps, clock, log, folder };
}

/** Returns a name in the place relative to the table. */
export function nameInTable({ folder }: Pick<World, 'folder'>, name: string): string {
  return name.startsWith(`${folder}/`) ? name.slice(folder.length + 1) : name;
}
