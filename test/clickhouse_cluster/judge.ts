import { createClient } from '@clickhouse/client';
import type { ClickHouseClient } from '@clickhouse/client';
import sql from 'sql-template-tag';
import { compareIngestion, compareRows, readSource } from '../chaos/compare.ts';
import type { Comparison } from '../chaos/compare.ts';
import { readFiles } from '../chaos/delivered.ts';
import { runSluice } from '../processes/sluice_process.ts';
import type { ClusterDeployment } from './deployment.ts';

type Differences = Pick<Comparison, 'lost' | 'doubled' | 'changed'>;

/** The state at the end. */
export type Judgement = {
  /** The differences between each replica and the events answered with 200. */
  replicas: Differences[];
  /** Duplicate versions of persons, and replicas whose versions differ from the first one's. */
  persons: { doubled: number; differing: number };
  files: Comparison;
  runs: Record<string, number>;
  /** The findings of `sluice verify`; empty when every receipt holds. */
  verified: string;
};

/** The subject of a judgement: `sent` since `began` (milliseconds), without earlier events. */
export type Judged = {
  deployment: ClusterDeployment;
  export_id: string;
  sent: Map<string, string>;
  began: number;
  judged: ReadonlySet<string>;
};

/** Compares every replica and every file with the answers. */
export async function judge({
  deployment,
  export_id,
  sent,
  began,
  judged,
}: Judged): Promise<Judgement> {
  const { cluster, db } = deployment;
  await cluster.settled();
  const nodes = cluster.replicas.map(({ index }) =>
    createClient({ url: cluster.url(index), log: { level: 127 } }),
  );
  try {
    const sources = await Promise.all(
      nodes.map(async (clickhouse) =>
        (await readSource({ clickhouse })).filter(({ uuid }) => !judged.has(uuid)),
      ),
    );
    const of = { batch_export_id: export_id, revision: 1 };
    const files = await readFiles(deployment);
    for (const uuid of judged) files.delete(uuid);
    const runs = await db.rows<{ status: string; runs: number }>(
      sql`SELECT status, count(*)::int AS runs FROM batch_export_runs GROUP BY status`,
    );
    // The most complete replica is the source if they differ.
    const source = sources.toSorted((one, other) => other.length - one.length)[0]!;
    return {
      replicas: sources.map((rows) => compareIngestion(sent, rows, 0)),
      persons: await judgePersons(nodes, began),
      files: await compareRows(db, of, source, files, { inserted_from: 0 }),
      runs: Object.fromEntries(runs.map((row) => [row.status, row.runs])),
      verified: await verify(deployment),
    };
  } finally {
    await Promise.all(nodes.map((node) => node.close()));
  }
}

async function judgePersons(
  nodes: ClickHouseClient[],
  began: number,
): Promise<Judgement['persons']> {
  const query = `SELECT toString(sum(cityHash64(distinct_id, person_version, properties,
      inserted_at))) AS digest, count() - uniqExact(team_id, distinct_id, person_version) AS doubled
    FROM persons WHERE team_id > 0
      AND inserted_at >= fromUnixTimestamp64Milli(toInt64(${began}), 'UTC')`;
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

/** Lists the faults, each with a count; for events, the sum over the replicas. */
export function faultsOf({
  replicas,
  files,
  persons,
  verified,
}: Judgement): Record<string, number> {
  const sum = (name: keyof Differences) => replicas.reduce((all, one) => all + one[name], 0);
  return {
    'events lost': sum('lost'),
    'events doubled': sum('doubled'),
    'events changed': sum('changed'),
    'rows missing in files': files.lost,
    'rows doubled in files': files.doubled,
    'rows changed in files': files.changed,
    'versions of persons doubled': persons.doubled,
    'replicas with other persons': persons.differing,
    'receipts that do not hold': verified === '' ? 0 : 1,
  };
}

/** True if nothing was lost, doubled or changed, on any replica and in the files. */
export function isFaultless(judgement: Judgement): boolean {
  return Object.values(faultsOf(judgement)).every((count) => count === 0);
}
