import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { startOperations } from '../chaos/operations.ts';
import { openRandom } from '../chaos/random.ts';
import { backfillMissing, settle } from '../chaos/settle.ts';
import { startTraffic } from '../chaos/traffic.ts';
import { openClusterDeployment } from './deployment.ts';
import type { ClusterDeployment } from './deployment.ts';
import { judge } from './judge.ts';
import type { Judgement } from './judge.ts';
import { afflict, campaign_trouble } from './nemesis.ts';
import type { Cut, Done } from './nemesis.ts';
import { no_trouble } from './settings.ts';
import type { ClusterSettings, Trouble, Weakness } from './settings.ts';

/**
 * The size of a campaign. `folder` is empty and only its own. `weaknesses` remove protections of
 * the cluster during the faults; `trouble` adds faults to the campaign's own.
 */
export type Campaign = {
  folder: string;
  mode: ClusterSettings['mode'];
  kills: number;
  cuts: number;
  seed: number;
  /** Only these kinds of cuts. */
  kinds?: readonly Cut[] | undefined;
  weaknesses?: readonly Weakness[] | undefined;
  trouble?: Partial<Trouble> | undefined;
  /** Number of persons of the events. */
  persons?: number | undefined;
  say(line: string): void;
};

/** The result of a campaign. `sent` is the number of events answered with 200. */
export type Outcome = Judgement & {
  done: Done;
  operations: Record<string, number>;
  sent: number;
};

/** The surroundings of a play: a server on a cluster, its export, and the answered events. */
export type World = {
  deployment: ClusterDeployment;
  export_id: string;
  trouble: Trouble;
  weaknesses: Set<Weakness>;
  /** Events that an earlier play sent and judged. */
  judged: Set<string>;
};

const late_ms_max = 3_600_000;
const progress_ms = 10_000;

/**
 * Sends events, runs exports and requests backfills on a cluster with faults, while the server's
 * processes and engines are killed. Then it waits until everything has ended, and compares every
 * replica and every file with the answers. Rejects if something does not end.
 */
export async function runCampaign(campaign: Campaign): Promise<Outcome> {
  return withWorld(campaign, (world) => play(world, campaign));
}

/** Starts a server on a cluster, does the work, and ends both. */
export async function withWorld<Result>(
  { folder, mode, seed, say, weaknesses: given = [] }: Campaign,
  work: (world: World) => Promise<Result>,
): Promise<Result> {
  const trouble = { ...no_trouble, fetch_ms_max: 500 };
  const weaknesses = new Set(given);
  const random = openRandom(seed, 4);
  const deployment = await openClusterDeployment({ folder, mode, trouble, weaknesses, random });
  try {
    await deployment.up();
    say('the server is up');
    const created = await deployment.call('POST', '/api/projects/@current/batch_exports/', {
      name: 'campaign',
      interval: 'every 5 minutes',
      destination: {
        type: 'File',
        config: { prefix: 'campaign', file_format: 'JSONLines', max_file_size_mb: 1 },
      },
    });
    if (created.status !== 201) throw new Error(JSON.stringify(created.body));
    const export_id = String(created.body['id']);
    return await work({ deployment, export_id, trouble, weaknesses, judged: new Set() });
  } finally {
    await deployment.close();
  }
}

/** Runs one campaign in an existing world; it only judges new events. */
export async function play(world: World, campaign: Campaign): Promise<Outcome> {
  const { deployment, export_id, trouble, weaknesses, judged } = world;
  const { seed, say, folder, persons = 500 } = campaign;
  const began = Date.now();
  for (const weakness of campaign.weaknesses ?? []) weaknesses.add(weakness);
  Object.assign(trouble, campaign_trouble, campaign.trouble);
  const traffic = startTraffic(deployment, openRandom(seed, 1), late_ms_max, persons);
  const operations = startOperations(deployment, openRandom(seed, 2), [export_id]);
  const done: Done = {};
  const tell = async () => say(await progressOf(deployment, campaign, done, traffic.sent.size));
  const progress = setInterval(() => void tell().catch(() => undefined), progress_ms);
  try {
    const note = (line: string) =>
      appendFileSync(join(folder, 'acts.log'), `${new Date().toISOString()} ${line}\n`);
    await afflict(deployment, { ...campaign, note, progress: () => traffic.sent.size }, done);
    await operations.stop();
    await traffic.stop();
    await tell();
    say('everything is given back, and settles');
    Object.assign(trouble, no_trouble);
    weaknesses.clear();
    await deployment.cluster.settled();
    await settle(deployment, [export_id]);
    await backfillMissing(deployment, [export_id], Date.now() - 2 * late_ms_max, Date.now());
    say('everything is compared');
    const { sent } = traffic;
    const judgement = await judge({ deployment, export_id, sent, began, judged });
    for (const uuid of sent.keys()) judged.add(uuid);
    return { done, operations: operations.counts(), sent: sent.size, ...judgement };
  } finally {
    clearInterval(progress);
  }
}

async function progressOf(
  { db }: ClusterDeployment,
  { kills, cuts }: Campaign,
  done: Done,
  sent: number,
): Promise<string> {
  const count = (is_kill: boolean) =>
    Object.entries(done)
      .filter(([name]) => name.startsWith('kill') === is_kill)
      .reduce((sum, [, times]) => sum + times, 0);
  const exported = await db.row<{ rows: number; runs: number; backfills: number }>(sql`
    SELECT coalesce(sum(records_total_count), 0)::int AS rows, count(*)::int AS runs,
      (SELECT count(*)::int FROM batch_export_backfills) AS backfills
    FROM batch_export_runs WHERE status = 'Completed'`);
  return (
    `${count(true)} of ${kills} kills, ${count(false)} of ${cuts} cuts; ${sent} events, ` +
    `${exported?.rows} rows by ${exported?.runs} runs, ${exported?.backfills} backfills`
  );
}
