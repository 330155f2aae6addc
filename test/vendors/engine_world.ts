import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runPlugins } from '../../server/cli/run_plugins.ts';
import { openSandbox } from '../../server/engine/plugins/sandbox/sandbox.ts';
import { systemClock } from '../../server/platform/clock.ts';
import { silentLog } from '../../server/platform/log.ts';
import type { Harness } from '../harness.ts';
import type { Vendor } from './description.ts';
import { playVendor } from './engine_story.ts';
import { openVendorReceiver } from './receiver.ts';

/** Plays vendors against the whole engine: the server, its workers and the processes of tools. */
export type EngineWorld = { play(vendor: Vendor): Promise<void>; close(): Promise<void> };

/** Opens it on a server whose tools' requests go to the receivers of the vendors. */
export async function openEngineWorld(harness: Harness, vendors: Vendor[]): Promise<EngineWorld> {
  const receiver = await openVendorReceiver(vendors);
  const tools_dir = mkdtempSync(join(tmpdir(), 'sluice-vendors-'));
  const variables = vendors.flatMap(({ variable }) => (variable === undefined ? [] : [variable]));
  writeFileSync(
    join(tools_dir, 'variables.env'),
    variables.map((name) => `${name}=right\n`).join(''),
  );
  const sandbox = await openSandbox({
    outbound: { fetch: receiver.fetch },
    log: silentLog(),
    clock: systemClock,
    public_url: 'http://127.0.0.1',
    tools_dir,
  });
  return {
    play: async (vendor) => {
      const home = await harness.newOrganization();
      const run = () =>
        runPlugins({ ...harness.deps, sandbox }, { retry_seconds: 0.05, idle_seconds: 1 });
      await playVendor({ home, vendor, receiver, run });
    },
    close: async () => {
      await sandbox.close();
      await receiver.close();
      rmSync(tools_dir, { recursive: true });
    },
  };
}
