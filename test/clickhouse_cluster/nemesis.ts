import { setTimeout as pause } from 'node:timers/promises';
import { openRandom } from '../chaos/random.ts';
import type { Random } from '../chaos/random.ts';
import { until } from '../processes/server_process.ts';
import type { ClusterDeployment } from './deployment.ts';
import type { Trouble } from './settings.ts';

/** The faults that happen on their own during a campaign. */
export const campaign_trouble: Trouble = {
  fetch_ms_max: 1_500,
  straggle_ms: 0,
  definition_ms_max: 500,
  commit_ms_max: 15,
  late: 0.02,
  late_ms_max: 800,
  cut: 0.02,
  repeat: 0.04,
  unknown: 0.03,
};

/** The cuts; each is drawn as often as it is listed. */
export const cuts = [
  'replica refuses',
  'replica refuses',
  'replica hangs',
  'replica hangs',
  'replica fetches nothing',
  'replica fetches nothing',
  'no quorum',
  'no quorum',
  'Keeper is away',
  'replica is lost with its disk',
] as const;
/** One of `cuts`. */
export type Cut = (typeof cuts)[number];

const victims = ['api', 'worker 1', 'worker 2', 'engine', 'engine'] as const;

/** The number of done faults, by name. */
export type Done = Record<string, number>;

/** The faults to do, and the receiver of messages. */
export type Affliction = {
  kills: number;
  cuts: number;
  seed: number;
  /** Only these kinds of cuts. */
  kinds?: readonly Cut[] | undefined;
  /** Returns the share of the work that is done, so that each kill and each cut hits some work. */
  progress(): number;
  /** Called at the start and the end of each fault. */
  note(line: string): void;
};

/**
 * Does this many kills and, concurrently, this many cuts, in an order by the seed. Each one comes
 * after the work has continued after the previous one. Returns once everything is restored; `done`
 * counts the faults meanwhile.
 */
export async function afflict(
  deployment: ClusterDeployment,
  { kills, cuts: cut_count, seed, kinds = cuts, progress, note }: Affliction,
  done: Done,
): Promise<void> {
  const all = async (count: number, ms_max: number, random: Random, one: Act) => {
    for (let left = count; left > 0; left -= 1) {
      await pause(random.between(20, ms_max));
      const name = await one(deployment, random, note);
      done[name] = (done[name] ?? 0) + 1;
      note(`over: ${name}`);
      const so_far = progress();
      await until('the work to go on', standstill_ms_max, 20, async () =>
        progress() > so_far ? true : undefined,
      );
    }
  };
  await Promise.all([
    all(kills, kill_pause_ms_max, openRandom(seed, 3), kill),
    all(cut_count, cut_pause_ms_max, openRandom(seed, 5), (_deployment, random) =>
      cut(deployment, random, random.one(kinds), note),
    ),
  ]);
}

type Act = (
  deployment: ClusterDeployment,
  random: Random,
  note: (line: string) => void,
) => Promise<string>;

const kill_pause_ms_max = 400;
const cut_pause_ms_max = 300;
const standstill_ms_max = 300_000;

const kill: Act = async (deployment, random, note) => {
  const victim = random.one(victims);
  const replica = random.between(0, 2);
  const killed = () =>
    victim === 'engine' ? deployment.cluster.kill(replica) : deployment.kill(victim);
  // A process that is down is killed once it is up again.
  while (!killed()) await pause(20);
  const name = `kill -9 of ${victim}`;
  note(victim === 'engine' ? `${name} ${replica + 1}` : name);
  return name;
};

async function cut(
  { cluster }: ClusterDeployment,
  random: Random,
  kind: Cut,
  note: (line: string) => void,
): Promise<string> {
  const replica = random.between(0, 2);
  // Most are short; one in ten is longer than the server's wait for a silent replica.
  const ms =
    random.between(1, 10) === 1 ? random.between(5_500, 7_500) : random.between(150, 1_500);
  note(`${kind}: replica ${replica + 1}, ${ms} ms`);
  switch (kind) {
    case 'replica refuses':
    case 'replica hangs':
      cluster.setState(replica, kind === 'replica hangs' ? 'hanging' : 'refusing');
      await pause(ms);
      cluster.setState(replica, 'up');
      break;
    case 'replica fetches nothing':
      cluster.stopFetches(replica, 2 * ms);
      await pause(ms);
      break;
    case 'no quorum':
      for (const one of [replica, (replica + 1) % 3]) cluster.setState(one, 'refusing');
      await pause(ms / 2);
      for (const one of [replica, (replica + 1) % 3]) cluster.setState(one, 'up');
      break;
    case 'Keeper is away':
      cluster.setKeeper(true);
      await pause(ms / 2);
      cluster.setKeeper(false);
      break;
    case 'replica is lost with its disk':
      await cluster.replace(replica);
      // A majority survives the loss of one; the next loss comes after all are back.
      await cluster.caughtUp(replica);
  }
  return kind;
}
