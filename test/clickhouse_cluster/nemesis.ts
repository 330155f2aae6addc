import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../chaos/random.ts';
import type { ClusterDeployment, Process } from './deployment.ts';
import type { Trouble } from './settings.ts';

/** What goes wrong by itself while a campaign goes on. */
export const campaign_trouble: Trouble = {
  fetch_ms_max: 1_500,
  definition_ms_max: 500,
  commit_ms_max: 15,
  late: 0.02,
  late_ms_max: 800,
  cut: 0.02,
  repeat: 0.04,
  unknown: 0.03,
};

/** The cuts there are, each as often as it stands here. */
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

/** What was done, by name. */
export type Done = Record<string, number>;

/**
 * Does so many kills and cuts one after the other in an order by the seed, and says each. Returns
 * when everything is whole again.
 */
export async function afflict(
  deployment: ClusterDeployment,
  random: Random,
  wanted: {
    kills: number;
    cuts: number;
    kinds?: readonly Cut[] | undefined;
    say(line: string): void;
  },
): Promise<Done> {
  const { kills, cuts: cut_count, kinds = cuts, say } = wanted;
  const done: Done = {};
  let [kills_left, cuts_left] = [kills, cut_count];
  while (kills_left + cuts_left > 0) {
    await pause(random.between(200, 1_500));
    const is_kill = random.between(1, kills_left + cuts_left) <= kills_left;
    if (is_kill) kills_left -= 1;
    else cuts_left -= 1;
    const name = is_kill
      ? await kill(deployment, random)
      : await cut(deployment, random, random.one(kinds));
    done[name] = (done[name] ?? 0) + 1;
    say(`${kills - kills_left} kills, ${cut_count - cuts_left} cuts: ${name}`);
  }
  return done;
}

async function kill(deployment: ClusterDeployment, random: Random): Promise<string> {
  const victim = random.one(victims);
  if (victim === 'engine') deployment.cluster.kill(random.between(0, 2));
  else while (!deployment.kill(victim satisfies Process)) await pause(50);
  return `kill -9 of ${victim}`;
}

async function cut({ cluster }: ClusterDeployment, random: Random, kind: Cut): Promise<string> {
  const replica = random.between(0, 2);
  const ms = random.between(200, 4_000);
  switch (kind) {
    case 'replica refuses':
    case 'replica hangs':
      cluster.setState(replica, kind === 'replica hangs' ? 'hanging' : 'refusing');
      await pause(ms);
      cluster.setState(replica, 'up');
      break;
    case 'replica fetches nothing':
      cluster.stopFetches(replica, ms);
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
      // A majority bears the loss of one; the next one comes when there are all again.
      await cluster.caughtUp(replica);
  }
  return kind;
}
