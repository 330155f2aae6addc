import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  findKeycloak,
  keycloak_version,
  whyNoKeycloak,
} from '../../../test/keycloak/distribution.ts';

/**
 * Opens a world with Keycloak and walks the flows in it, a line for each. Skips all without its
 * programs. `tell` says more at the end. Sets exit code 1 if a flow did not end as it must.
 */
export async function walkFlows<World extends { close(): Promise<unknown> }>(
  name: string,
  open: (home: string, folder: string) => Promise<World>,
  flows: readonly { name: string; walk: (world: World) => Promise<unknown> }[],
  tell?: (world: World) => string,
): Promise<void> {
  const reason = await whyNoKeycloak();
  if (reason !== undefined) return console.log(`Skipped: ${reason}`);
  const say = (line: string) => console.log(line);
  const home = await findKeycloak(say);
  const folder = mkdtempSync(join(tmpdir(), `sluice-${name}-`));
  const began = performance.now();
  const world = await open(home, folder);
  const seconds = () => Math.round((performance.now() - began) / 1000);
  say(`Keycloak ${keycloak_version} and the server are ready after ${seconds()} s; in ${folder}`);
  let failed = 0;
  try {
    for (const { name: flow, walk } of flows) {
      try {
        await walk(world);
        say(`ok  ${flow}`);
      } catch (error) {
        failed += 1;
        say(`FAILED  ${flow}\n${String(error instanceof Error ? error.stack : error)}`);
      }
    }
    if (tell !== undefined) say(tell(world));
  } finally {
    await world.close();
  }
  say(`${flows.length - failed} of ${flows.length} flows are as they must be, in ${seconds()} s`);
  rmSync(folder, { recursive: true, force: true });
  process.exitCode = failed === 0 ? 0 : 1;
}
