import { join } from 'node:path';
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
import type { Cut, Done } from './nemesis.ts';
import { no_trouble } from './settings.ts';
import type { ClusterSettings, Trouble, Weakness } from './settings.ts';

/**
 * What a campaign does. `folder` is empty and only its own; `weakness` takes one protection of the
 * cluster away while things go wrong.
 */
export type Campaign = {
  folder: string;
  mode: ClusterSettings['mode'];
  kills: number;
  cuts: number;
  seed: number;
  /** Cuts of no other kinds than these. */
  kinds?: readonly Cut[] | undefined;
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
  return withWorld(campaign, (world) => play(world, campaign));
}

/** What a cluster without one of its protections came to, beyond what was so before. */
export type Control = { weakness: Weakness; seed: number; found: string };

/** Without these no server starts, and says why. */
const needed_to_start: readonly Weakness[] = [
  'definitions stay on a node',
  'one node answers for all',
];

/**
 * Takes one protection after the other away from the cluster for a while, and says for each what
 * was lost, doubled or changed meanwhile, or why the server does not start; nothing where `found`
 * is empty.
 */
export async function runControls(
  campaign: Campaign,
  weaknesses: readonly Weakness[],
): Promise<Control[]> {
  const at_start = weaknesses.filter((weakness) => needed_to_start.includes(weakness));
  const later = weaknesses.filter((weakness) => !needed_to_start.includes(weakness));
  const controls = later.length === 0 ? [] : await controlWork(campaign, later);
  for (const weakness of at_start) {
    const folder = join(campaign.folder, weakness.replaceAll(' ', '_'));
    const found = await withWorld({ ...campaign, folder, weakness }, async () => '').catch(
      (error: unknown) => `the server does not start: ${reasonOf(error)}`,
    );
    campaign.say(`without protection (${weakness}): ${found}`);
    controls.push({ weakness, seed: campaign.seed, found });
  }
  return controls;
}

/** The sentence in what a server wrote before it ended. */
function reasonOf(error: unknown): string {
  const text = String(error);
  return /Not every replica[^"\n]*/.exec(text)?.[0] ?? text;
}

async function controlWork(
  campaign: Campaign,
  weaknesses: readonly Weakness[],
): Promise<Control[]> {
  return withWorld(campaign, async (world) => {
    const controls: Control[] = [];
    let before = faultsOf(await play(world, { ...campaign, kills: 0, cuts: 0 }));
    for (const weakness of weaknesses) {
      const seed = campaign.seed + controls.length;
      const kinds = kinds_for[weakness] ?? campaign.kinds;
      const outcome = await play(world, { ...campaign, seed, weakness, kinds });
      const after = faultsOf(outcome);
      const found = Object.entries(after)
        .map(
          ([name, count]) => [name, count - (lasting.includes(name) ? before[name]! : 0)] as const,
        )
        .filter(([, count]) => count > 0)
        .map(([name, count]) => `${name}: ${count}`)
        .join(', ');
      before = after;
      controls.push({ weakness, seed, found });
      campaign.say(
        `without protection (${weakness}), seed ${seed}, ${outcome.sent} events: ${found}`,
      );
    }
    return controls;
  });
}

/** What shows a weakness fastest. */
const kinds_for: Partial<Record<Weakness, readonly Cut[]>> = {
  'no quorum': ['replica is lost with its disk'],
  'no waiting for others': ['replica refuses', 'replica fetches nothing', 'replica hangs'],
  'requests are spread': ['replica fetches nothing'],
};

/** Faults that stay for the plays after. */
const lasting = [
  'versions of persons doubled',
  'replicas with other persons',
  'receipts that do not hold',
];

/** What goes wrong more often than in other plays, so that a weakness shows in a short one. */
const more_trouble_for: Partial<Record<Weakness, Partial<Trouble>>> = {
  'cancelled inserts leave a hash': { repeat: 0.8, fetch_ms_max: 100 },
  'no deduplication': { repeat: 0.8, fetch_ms_max: 100 },
  'short deduplication window': { repeat: 0.8, fetch_ms_max: 100 },
  'no waiting for others': { fetch_ms_max: 5_000 },
  'requests are spread': { fetch_ms_max: 5_000 },
  'mutations stay on a node': { unknown: 0.2 },
};

/** What is played in: a server on a cluster, its export, and all that was answered for so far. */
type World = {
  deployment: ClusterDeployment;
  export_id: string;
  trouble: Trouble;
  weaknesses: Set<Weakness>;
  /** Events that an earlier play has sent, and judged. */
  judged: Set<string>;
};

async function withWorld<Result>(
  { folder, mode, seed, say, weakness }: Campaign,
  work: (world: World) => Promise<Result>,
): Promise<Result> {
  const trouble = { ...no_trouble, fetch_ms_max: 500 };
  const weaknesses = new Set<Weakness>(weakness === undefined ? [] : [weakness]);
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

async function play(world: World, campaign: Campaign): Promise<Outcome> {
  const { deployment, export_id, trouble, weaknesses, judged } = world;
  const { seed, weakness } = campaign;
  if (weakness !== undefined) weaknesses.add(weakness);
  const more = weakness === undefined ? {} : more_trouble_for[weakness];
  Object.assign(trouble, campaign_trouble, more);
  const traffic = startTraffic(deployment, openRandom(seed, 1), late_ms_max);
  const operations = startOperations(deployment, openRandom(seed, 2), [export_id]);
  const done = await afflict(deployment, openRandom(seed, 3), campaign);
  await operations.stop();
  await traffic.stop();
  campaign.say('everything is given back, and settles');
  Object.assign(trouble, no_trouble);
  weaknesses.clear();
  await deployment.cluster.settled();
  await settle(deployment, [export_id]);
  await backfillMissing(deployment, [export_id], Date.now() - 2 * late_ms_max, Date.now());
  const judgement = await judge(world, traffic.sent);
  for (const uuid of traffic.sent.keys()) judged.add(uuid);
  return { done, operations: operations.counts(), sent: traffic.sent.size, ...judgement };
}

/** What is not as it must be, each with a count; of events, the sum over the replicas. */
function faultsOf({ replicas, files, persons, verified }: Outcome): Record<string, number> {
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

/** True when nothing was lost, doubled or changed, on any replica and in the files. */
export function isFaultless(outcome: Outcome): boolean {
  return Object.values(faultsOf(outcome)).every((count) => count === 0);
}

async function judge(
  { deployment, export_id, judged }: World,
  sent: Map<string, string>,
): Promise<Omit<Outcome, 'done' | 'operations' | 'sent'>> {
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
