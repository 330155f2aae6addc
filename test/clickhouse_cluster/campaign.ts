import { createClient } from '@clickhouse/client';
import type { ClickHouseClient } from '@clickhouse/client';
import sql from 'sql-template-tag';
import { compareIngestion, compareRows, readSource } from '../chaos/compare.ts';
import type { Comparison } from '../chaos/compare.ts';
import { readFiles } from '../chaos/delivered.ts';
import { startOperations } from '../chaos/operations.ts';
import { openRandom } from '../chaos/random.ts';
import { backfillMissing, settle } from '../chaos/settle.ts';
import { startTraffic } from '../chaos/traffic.ts';
import { runSluice } from '../processes/sluice_process.ts';
import { openClusterDeployment } from './deployment.ts';
import type { ClusterDeployment } from './deployment.ts';
import { afflict, campaign_trouble } from './nemesis.ts';
import type { Done } from './nemesis.ts';
import { no_trouble } from './settings.ts';
import type { ClusterSettings, Weakness } from './settings.ts';

/**
 * What a campaign does. `folder` is empty and only its own; `weakness` takes one protection of the
 * cluster away.
 */
export type Campaign = {
  folder: string;
  mode: ClusterSettings['mode'];
  kills: number;
  cuts: number;
  seed: number;
  weakness?: Weakness | undefined;
  say(line: string): void;
};

type Differences = Pick<Comparison, 'lost' | 'doubled' | 'changed'>;

/** What came of it. */
export type Outcome = {
  done: Done;
  operations: Record<string, number>;
  /** Events that were answered for with 200. */
  sent: number;
  /** What each replica has of them in the end. */
  replicas: Differences[];
  /** Versions of persons that are there twice, and replicas with others than the first. */
  persons: { doubled: number; differing: number };
  files: Comparison;
  runs: Record<string, number>;
  /** What `sluice verify` found; empty when every receipt holds. */
  verified: string;
};

const late_ms_max = 3_600_000;

/**
 * Lets events come in, exports run and backfills be asked for on a cluster that misbehaves, with
 * kills of the server's processes and of engines; lets everything settle; and compares what every
 * replica and every file has with what was answered for. Rejects when something does not come to
 * its end.
 */
export async function runCampaign(campaign: Campaign): Promise<Outcome> {
  const { folder, mode, seed, weakness } = campaign;
  const trouble = { ...no_trouble, fetch_ms_max: 500 };
  const deployment = await openClusterDeployment({
    folder,
    mode,
    trouble,
    weaknesses: new Set(weakness === undefined ? [] : [weakness]),
    random: openRandom(seed, 4),
  });
  try {
    await deployment.up();
    const created = await deployment.call('POST', '/api/projects/@current/batch_exports/', {
      name: 'campaign',
      interval: 'every 5 minutes',
      destination: {
        type: 'File',
        config: { prefix: 'campaign', file_format: 'JSONLines', max_file_size_mb: 1 },
      },
    });
    if (created.status !== 201) throw new Error(JSON.stringify(created.body));
    const id = String(created.body['id']);
    Object.assign(trouble, campaign_trouble);
    const traffic = startTraffic(deployment, openRandom(seed, 1), late_ms_max);
    const operations = startOperations(deployment, openRandom(seed, 2), [id]);
    const done = await afflict(deployment, openRandom(seed, 3), campaign);
    await operations.stop();
    await traffic.stop();
    campaign.say('everything is given back, and settles');
    Object.assign(trouble, no_trouble);
    await deployment.cluster.settled();
    await settle(deployment, [id]);
    await backfillMissing(deployment, [id], Date.now() - 2 * late_ms_max, Date.now());
    return {
      done,
      operations: operations.counts(),
      sent: traffic.sent.size,
      ...(await judge(deployment, id, traffic.sent)),
    };
  } finally {
    await deployment.close();
  }
}

/** True when nothing was lost, doubled or changed, on any replica and in the files. */
export function isFaultless({ replicas, files, persons, verified }: Outcome): boolean {
  return (
    [...replicas, files].every(
      ({ lost, doubled, changed }) => lost === 0 && doubled === 0 && changed === 0,
    ) &&
    persons.doubled === 0 &&
    persons.differing === 0 &&
    verified === ''
  );
}

async function judge(
  deployment: ClusterDeployment,
  id: string,
  sent: Map<string, string>,
): Promise<Omit<Outcome, 'done' | 'operations' | 'sent'>> {
  const { cluster, db } = deployment;
  await cluster.settled();
  const nodes = cluster.replicas.map(({ index }) =>
    createClient({ url: cluster.url(index), log: { level: 127 } }),
  );
  try {
    const sources = await Promise.all(nodes.map((clickhouse) => readSource({ clickhouse })));
    const of = { batch_export_id: id, revision: 1 };
    const files = await readFiles(deployment);
    const runs = await db.rows<{ status: string; runs: number }>(
      sql`SELECT status, count(*)::int AS runs FROM batch_export_runs GROUP BY status`,
    );
    // Where replicas differ, the one that has the most is the source.
    const source = sources.toSorted((one, other) => other.length - one.length)[0]!;
    return {
      replicas: sources.map((rows) => compareIngestion(sent, rows, 0)),
      persons: await judgePersons(nodes),
      files: await compareRows(db, of, source, files, { inserted_from: 0 }),
      runs: Object.fromEntries(runs.map((row) => [row.status, row.runs])),
      verified: await verify(deployment),
    };
  } finally {
    await Promise.all(nodes.map((node) => node.close()));
  }
}

async function judgePersons(nodes: ClickHouseClient[]): Promise<Outcome['persons']> {
  const query = `SELECT toString(sum(cityHash64(distinct_id, person_version, properties,
      inserted_at))) AS digest, count() - uniqExact(team_id, distinct_id, person_version) AS doubled
    FROM persons WHERE team_id > 0`;
  const found = await Promise.all(
    nodes.map(async (node) => {
      const answer = await node.query({ query, format: 'JSONEachRow' });
      const [row] = await answer.json<{ digest: string; doubled: string }>();
      return row!;
    }),
  );
  return {
    doubled: Math.max(...found.map(({ doubled }) => Number(doubled))),
    differing: found.filter(({ digest }) => digest !== found[0]!.digest).length,
  };
}

async function verify({ environment }: ClusterDeployment): Promise<string> {
  const { code, out, err } = await runSluice(['verify', '--json'], environment);
  return code === 0 ? '' : `${code}: ${out}${err}`;
}
