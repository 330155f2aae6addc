import { after, before, test } from 'node:test';
import { inTurn } from '../depth.ts';
import { openHarness } from '../harness.ts';
import type { Harness } from '../harness.ts';
import { openEngineWorld } from './engine_world.ts';
import type { EngineWorld } from './engine_world.ts';
import { readVendors } from './vendors.ts';

// Errors beside a list that is taken, and errors with 200. `npm run tool_vendors` plays every
// vendor.
const played = ['Braze', 'TikTok'];

const vendors = readVendors().filter(({ name }) => played.includes(name));
let harness: Harness;
let world: EngineWorld;
before(async () => {
  harness = await openHarness();
  world = await openEngineWorld(harness, vendors);
});
after(async () => {
  await world.close();
  await harness.close();
});

for (const vendor of inTurn(vendors, played.length))
  test(`Events come to ${vendor.name} through a wrong key, refusals, a limit and an outage`, () =>
    world.play(vendor));
