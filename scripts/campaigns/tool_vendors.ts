// Plays the life of a tool at each vendor whose documented answers test/vendors has: a wrong key,
// refused events, a limit, an outage. The server, its workers and the processes of tools are real;
// requests end at receivers of ours (`npm run tool_vendors [-- --only Braze,Slack]`).
import '../require_node.mjs';
import { findVendor } from '../../server/engine/plugins/oauth/vendors.ts';
import { openHarness } from '../../test/harness.ts';
import { openEngineWorld } from '../../test/vendors/engine_world.ts';
import { readVendors } from '../../test/vendors/vendors.ts';
import { readOptions } from '../options.ts';

const { only } = readOptions({ only: '' });
const names = only.split(',').filter(Boolean);
const vendors = readVendors().filter(
  // Tools with OAuth need a connection, which `npm run tool_oauth` tests.
  ({ name, directory }) =>
    findVendor(directory) === undefined && (names.length === 0 || names.includes(name)),
);
const harness = await openHarness();
const world = await openEngineWorld(harness, vendors);
let faults = 0;
for (const vendor of vendors) {
  const began = performance.now();
  const fault = await world.play(vendor).then(() => undefined, String);
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  console.log(`${vendor.name}: ${fault ?? 'as documented'} (${seconds} s)`);
  if (fault !== undefined) faults += 1;
}
await world.close();
await harness.close();
console.log(`${vendors.length} vendors, ${faults} with faults.`);
process.exitCode = faults === 0 ? 0 : 1;
