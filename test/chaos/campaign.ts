import { setTimeout as pause } from 'node:timers/promises';
import sql from 'sql-template-tag';
import type { StoredRectangle } from '../../server/engine/model/ledger/rectangles.ts';
import { fillEvents } from '../factories/events/fill_events.ts';
import { until } from '../processes/server_process.ts';
import { compareIngestion, compareRows, readSource } from './compare.ts';
import type { Comparison } from './compare.ts';
import { places } from './delivered.ts';
import { findLeftovers } from './leftovers.ts';
import type { Leftovers } from './leftovers.ts';
import { openDeployment, victims } from './deployment.ts';
import type { Deployment, Victim } from './deployment.ts';
import { startOperations } from './operations.ts';
import { openRandom } from './random.ts';
import type { Random } from './random.ts';
import { backfillMissing, settle } from './settle.ts';
import { startTraffic } from './traffic.ts';

/**
 * The size of a campaign: the number of events before it begins, the number of kills, and the seed
 * that decides victims and times. `folder` is empty and only its own.
 */
export type Campaign = {
  folder: string;
  events: number;
  kills: number;
  seed: number;
  say(line: string): void;
};

/** The result of a campaign. */
export type Outcome = {
  kills: Record<string, number>;
  operations: Record<string, number>;
  /**
   * Events that were answered with 200 while processes were killed, and how many of these sends
   * repeated earlier ones.
   */
  sent: number;
  repeated: number;
  /** Rows of the analytics store. */
  source: number;
  ingestion: Pick<Comparison, 'lost' | 'doubled' | 'changed'>;
  /** By type of destination. */
  destinations: Record<
    string,
    Comparison & { runs: Record<string, number>; attempts: number; ledger: StoredRectangle[] }
  >;
  leftovers: Leftovers;
  /** The longest time from a process's start until it was ready, in milliseconds. */
  slowest_starts: Record<string, number>;
};

const late_ms_max = 3_600_000;
const kill_pause_ms = [300, 3_000] as const;
/** A worker dies most often, because it delivers the runs. Stores take longer to return. */
const targets: Victim[] = [
  ...victims,
  'worker 1',
  'worker 2',
  'worker 1',
  'worker 2',
  'api',
  'S3 store',
];

/**
 * Kills a deployment's processes with -9 at random while events arrive, exports run, and people
 * start backfills, cancel, retry and pause. Then it waits until everything has ended and compares
 * every row of each destination with the source. It first compares what the schedules had to
 * deliver on their own, then, after a backfill of the missing rows, everything. Finally it looks
 * for leftovers. Rejects when something does not come to its end.
 */
export async function runCampaign(campaign: Campaign): Promise<Outcome> {
  const deployment = await openDeployment(campaign.folder);
  try {
    const begun_at = Date.now();
    const exports = await createExports(campaign, deployment, begun_at);
    const ids = Object.values(exports);
    const traffic = startTraffic(deployment, openRandom(campaign.seed, 1), late_ms_max);
    const operations = startOperations(deployment, openRandom(campaign.seed, 2), ids);
    const kills = await killAtRandom(campaign, deployment, openRandom(campaign.seed, 3));
    await deployment.up();
    await operations.stop();
    await traffic.stop();
    await settle(deployment, ids);
    const first = await compare(deployment, exports, begun_at);
    sayComparisons(campaign, 'what the schedules had to deliver', first);
    await backfillMissing(deployment, ids, begun_at - 2 * late_ms_max, Date.now());
    const last = await compare(deployment, exports, 0);
    sayComparisons(campaign, 'everything', last);
    const source = await readSource(deployment);
    return {
      kills,
      operations: operations.counts(),
      sent: traffic.sent.size,
      repeated: traffic.repeated(),
      source: source.length,
      ingestion: compareIngestion(traffic.sent, source, campaign.events),
      destinations: Object.fromEntries(
        await Promise.all(
          Object.entries(exports).map(async ([type, id]) => [
            type,
            await describe(deployment, id, first[type]!, last[type]!),
          ]),
        ),
      ),
      leftovers: await findLeftovers(deployment),
      slowest_starts: deployment.slowestStarts(),
    };
  } finally {
    await deployment.close();
  }
}

/** True if nothing was lost, doubled, changed or left behind, in ingestion and in delivery. */
export function isFaultless({ ingestion, destinations, leftovers }: Outcome): boolean {
  if (Object.values(leftovers).some((names) => names.length > 0)) return false;
  return [ingestion, ...Object.values(destinations)].every(
    ({ lost, doubled, changed }) => lost === 0 && doubled === 0 && changed === 0,
  );
}

/**
 * Inserts events of the last hour before any export, and creates an export to each destination;
 * returns their ids by type.
 */
async function createExports(
  { events }: Campaign,
  deployment: Deployment,
  now: number,
): Promise<Record<string, string>> {
  await deployment.up();
  const inserted = { inserted_from: now - late_ms_max, inserted_to: now - 600_000 };
  await fillEvents(deployment.clickhouse, {
    team_id: 1,
    events,
    from: now - late_ms_max,
    to: now - 600_000,
    ...inserted,
  });
  const exports: Record<string, string> = {};
  for (const [type, place] of Object.entries(places)) {
    const body = {
      name: type,
      interval: 'every 5 minutes',
      destination: { type, config: place.config(deployment) },
    };
    const created = await deployment.call('POST', '/api/projects/@current/batch_exports/', body);
    if (created.status !== 201) throw new Error(JSON.stringify(created.body));
    exports[type] = String(created.body['id']);
  }
  return exports;
}

async function killAtRandom(
  { kills, say }: Campaign,
  deployment: Deployment,
  random: Random,
): Promise<Record<string, number>> {
  const killed: Record<string, number> = {};
  const began = performance.now();
  for (let count = 1; count <= kills; count += 1) {
    await pause(random.between(...kill_pause_ms));
    // A process that is starting has nothing to lose, and a kill has to interrupt work.
    await until('the API and a worker to be up', 240_000, 50, async () =>
      isAtWork(deployment) ? true : undefined,
    );
    const victim = await until('a process that can be killed', 60_000, 20, async () => {
      const one = random.one(targets);
      return deployment.kill(one) ? one : undefined;
    });
    killed[victim] = (killed[victim] ?? 0) + 1;
    say(
      `${((performance.now() - began) / 1000).toFixed(1).padStart(7)} s  kill -9 ${count} of ` +
        `${kills}: ${victim}; ${await stateOf(deployment)}`,
    );
  }
  return killed;
}

function isAtWork({ isUp }: Deployment): boolean {
  return isUp('api') && (isUp('worker 1') || isUp('worker 2'));
}

/** Describes the work in progress, as far as the control store shows it at this moment. */
async function stateOf({ db }: Deployment): Promise<string> {
  try {
    const counts = await db.rows<{ status: string; runs: number }>(
      sql`SELECT status, count(*)::int AS runs FROM batch_export_runs GROUP BY status
        ORDER BY status`,
    );
    return counts.map(({ status, runs }) => `${runs} ${status}`).join(', ');
  } catch {
    return 'the control store is down';
  }
}

async function compare(
  deployment: Deployment,
  exports: Record<string, string>,
  insertedFrom: number,
): Promise<Record<string, Comparison>> {
  const source = await readSource(deployment);
  const compared: Record<string, Comparison> = {};
  for (const [type, id] of Object.entries(exports)) {
    const delivered = await places[type]!.read(deployment);
    compared[type] = await compareRows(
      deployment.db,
      { batch_export_id: id, revision: 1 },
      source,
      delivered,
      { inserted_from: insertedFrom },
    );
  }
  return compared;
}

function sayComparisons(
  { say }: Campaign,
  what: string,
  compared: Record<string, Comparison>,
): void {
  for (const [type, { rows, repeats, lost, doubled, changed }] of Object.entries(compared))
    say(
      `${type}, ${what}: ${rows} rows, of them ${repeats} repeats that were asked for; ` +
        `${lost} lost, ${doubled} doubled, ${changed} changed`,
    );
}

async function describe(
  { db }: Deployment,
  id: string,
  first: Comparison,
  last: Comparison,
): Promise<Outcome['destinations'][string]> {
  const runs = await db.rows<{ status: string; runs: number; attempts: number }>(
    sql`SELECT status, count(*)::int AS runs, sum(attempt)::int AS attempts FROM batch_export_runs
      WHERE batch_export_id = ${id} GROUP BY status`,
  );
  const ledger = await db.row<{ delivered: StoredRectangle[] }>(
    sql`SELECT delivered FROM batch_export_ledgers WHERE batch_export_id = ${id}`,
  );
  return {
    rows: last.rows,
    repeats: last.repeats,
    lost: first.lost + last.lost,
    doubled: first.doubled + last.doubled,
    changed: first.changed + last.changed,
    runs: Object.fromEntries(runs.map((row) => [row.status, row.runs])),
    attempts: runs.reduce((sum, row) => sum + row.attempts, 0),
    ledger: ledger?.delivered ?? [],
  };
}
