import { join } from 'node:path';
import { play, withWorld } from './campaign.ts';
import type { Campaign, World } from './campaign.ts';
import { faultsOf } from './judge.ts';
import { moveToCluster } from './move.ts';
import type { Cut } from './nemesis.ts';
import type { Trouble, Weakness } from './settings.ts';

/** The way to take a protection away, and the short play that shows the effect. */
type Plan = {
  /** The guarantee that the server relies on, with its points in README.md. */
  protection: string;
  seed: number;
  /** The weaknesses that take it away; without them, the one named like the control. */
  weaknesses?: readonly Weakness[];
  /**
   * `start`: no server starts. `move`: rows are moved there. Otherwise events are ingested and
   * delivered.
   */
  at?: 'start' | 'move';
  cuts?: number;
  kinds?: readonly Cut[];
  trouble?: Partial<Trouble>;
  persons?: number;
};

const repeating: Partial<Trouble> = { repeat: 0.8, fetch_ms_max: 100 };

/** Each protection that is removed, in the order of the points. */
const plans = {
  'rows stay on a node': { protection: 'replicated tables (1)', seed: 55 },
  'definitions stay on a node': {
    protection: 'definitions, looked for on each replica (2)',
    seed: 41,
    at: 'start',
  },
  'cancelled inserts leave a hash': {
    protection: 'versions, and inserts that nobody ends (3)',
    seed: 51,
    trouble: repeating,
  },
  'no quorum': { protection: 'a quorum (4)', seed: 32, kinds: ['replica is lost with its disk'] },
  'no deduplication': { protection: 'the token of a batch (5)', seed: 33, trouble: repeating },
  'short deduplication window': {
    protection: 'a window that is long enough (6)',
    seed: 52,
    trouble: repeating,
  },
  'one node answers for all': {
    protection: 'questions to all replicas (2, 7)',
    seed: 42,
    at: 'start',
  },
  'no waiting for others': {
    protection: 'waiting for what others have (8, 9)',
    seed: 35,
    // A reader that stays with one replica finds its own writes there. Refusals make it leave the
    // replica again and again.
    kinds: ['replica refuses'],
    cuts: 10,
    trouble: { fetch_ms_max: 50, straggle_ms: 5_000 },
  },
  'others insert without bound': {
    protection: 'a bound on inserts a second (10)',
    seed: 71,
    trouble: repeating,
  },
  'mutations stay on a node': {
    protection: 'removals from every replica (11)',
    seed: 61,
    // Versions of persons are undone if their events were not stored.
    persons: 1_000_000,
    trouble: { unknown: 0.5, fetch_ms_max: 100 },
    kinds: ['replica fetches nothing'],
  },
  'requests are spread': {
    protection: 'one replica for a piece of work (8, 12)',
    seed: 62,
    kinds: ['replica fetches nothing'],
  },
  'counts of copies are not theirs': {
    protection: 'counts and hashes of a move (13)',
    seed: 72,
    at: 'move',
    weaknesses: ['copies lose blocks', 'counts of copies are not theirs'],
  },
  'there are several shards': { protection: 'one shard, or no start (14)', seed: 73, at: 'start' },
} satisfies Record<string, Plan>;

/** A protection that can be taken away. */
export type ControlName = keyof typeof plans;

/** All of them. */
export const control_names = Object.keys(plans) as ControlName[];

/** The result of a cluster without one of its protections. */
export type Control = { name: ControlName; protection: string; seed: number; found: string };

const cuts_default = 6;

/**
 * Removes one protection after another from the cluster for a while. For each, it returns what was
 * lost, doubled or changed meanwhile, or why the server does not start; nothing if `found` is
 * empty.
 */
export async function runControls(
  campaign: Campaign,
  names: readonly ControlName[],
): Promise<Control[]> {
  const controls: Control[] = [];
  const during = async (name: ControlName, work: (one: Campaign) => Promise<string>) => {
    const plan: Plan = plans[name];
    const { protection, seed, kinds, trouble, persons } = plan;
    const began = performance.now();
    const found = await work({
      ...campaign,
      seed,
      kinds,
      trouble,
      persons,
      kills: 0,
      cuts: plan.cuts ?? cuts_default,
      weaknesses: plan.weaknesses ?? [name],
    });
    controls.push({ name, protection, seed, found });
    const seconds = ((performance.now() - began) / 1_000).toFixed(1);
    campaign.say(`without protection (${name}), seed ${seed}, ${seconds} s: ${found || 'NOTHING'}`);
  };
  const those = (at: Plan['at']) => names.filter((name) => (plans[name] as Plan).at === at);
  const folderOf = (name: string) => join(campaign.folder, name.replaceAll(' ', '_'));
  // A server usually waits this long for the replicas before it gives up.
  await Promise.all(
    those('start').map((name) =>
      during(name, (one) => startWithout({ ...one, folder: folderOf(name) })),
    ),
  );
  for (const name of those('move'))
    await during(name, (one) => moveToCluster({ ...one, folder: folderOf(name) }));
  const working = those(undefined);
  if (working.length > 0)
    await withWorld(campaign, async (world) => {
      const before = { holds: true };
      for (const name of working) await during(name, (one) => workWithout(world, one, before));
    });
  return names.flatMap((name) => controls.filter((one) => one.name === name));
}

/** Returns why no server starts. */
async function startWithout(campaign: Campaign): Promise<string> {
  return withWorld(campaign, async () => '').catch((error: unknown) => {
    const reason = /(?:Not every replica|the cluster \w+ has)[^"\n]*/.exec(String(error))?.[0];
    if (reason === undefined) throw error;
    return `the server does not start: ${reason}`;
  });
}

/** Lists the faults of a play; a damaged receipt is attributed to the first control only. */
async function workWithout(
  world: World,
  campaign: Campaign,
  before: { holds: boolean },
): Promise<string> {
  const outcome = await play(world, campaign);
  const { 'receipts that do not hold': spoiled, ...faults } = faultsOf(outcome);
  const found = { ...faults, ...(before.holds ? { 'receipts that do not hold': spoiled! } : {}) };
  before.holds &&= spoiled === 0;
  return Object.entries(found)
    .filter(([, count]) => count > 0)
    .map(([what, count]) => `${what}: ${count}`)
    .join(', ');
}
