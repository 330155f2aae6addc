import { beforeEach } from 'node:test';
import { openClaimWorld } from './claim_world.ts';
import type { ClaimWorld } from './claim_world.ts';
import { betweenFiles } from '../../between_files.ts';
import { openHarness } from '../../harness.ts';
import type { Harness } from '../../harness.ts';

/** Opened before the tests of the files that import it, and closed after them. */
export let harness: Harness;

/** Cleared before each test. */
export let world: ClaimWorld;

/** New runs of a project, an hour apart. */
export async function newRuns(project: number, count: number, host?: string): Promise<string[]> {
  const ids: string[] = [];
  for (let hour = 0; hour < count; hour += 1)
    ids.push(await world.newRun(project, host === undefined ? { hour } : { hour, host }));
  return ids;
}

const openWorld = betweenFiles(
  async () => {
    harness = await openHarness({ clickhouse: false });
    world = await openClaimWorld(harness);
  },
  () => harness.close(),
);

/** Opens the exports of this file; files that need it run one after another. */
export function openAroundTests(): void {
  openWorld();
  beforeEach(() => world.clear());
}
