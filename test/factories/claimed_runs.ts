import { after, before, beforeEach } from 'node:test';
import { openClaimWorld } from './claim_world.ts';
import type { ClaimWorld } from './claim_world.ts';
import { openHarness } from '../harness.ts';
import type { Harness } from '../harness.ts';

/** Opened before the tests of the file that imports it, and closed after them. */
export let house: Harness;

/** Cleared before each test. */
export let world: ClaimWorld;

/** New runs of a project, an hour apart. */
export async function newRuns(project: number, count: number, host?: string): Promise<string[]> {
  const ids: string[] = [];
  for (let hour = 0; hour < count; hour += 1)
    ids.push(await world.newRun(project, host === undefined ? { hour } : { hour, host }));
  return ids;
}

/**
 * Opens what this file exports before the tests of the file that calls it, and closes it after
 * them. Called by each test file itself: hooks of an imported module may run before its tests.
 */
export function openAroundTests(): void {
  before(async () => {
    house = await openHarness({ clickhouse: false });
    world = await openClaimWorld(house);
  });
  after(() => house.close());
  beforeEach(() => world.clear());
}
