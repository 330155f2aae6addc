import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import sql from 'sql-template-tag';
import { openClickHouse } from '../../server/platform/clickhouse/client.ts';
import { openEmbeddedClickHouse } from '../../server/platform/embedded/clickhouse/clickhouse.ts';
import { createApiKey } from '../../server/platform/http/caller/api_key.ts';
import { silentLog } from '../../server/platform/log.ts';
import { openDatabase } from '../../server/platform/postgres/database.ts';
import type { Database } from '../../server/platform/postgres/database.ts';
import { compareIngestion, compareRows, readSource } from '../chaos/compare.ts';
import type { Comparison } from '../chaos/compare.ts';
import { readFiles } from '../chaos/delivered.ts';
import type { Site } from '../chaos/deployment.ts';
import { comeDue } from '../chaos/operations.ts';
import { openRandom } from '../chaos/random.ts';
import { settle } from '../chaos/settle.ts';
import { serverEnvironment } from '../processes/server_process.ts';
import { runSluice } from '../processes/sluice_process.ts';
import { openCrew } from './crew.ts';
import type { Crew } from './crew.ts';
import { watchRuns } from './history.ts';
import { startLoad } from './load.ts';
import type { Load } from './load.ts';
import { fates, openTrio } from './trio.ts';
import type { Fate, Trio } from './trio.ts';

/** `programs`: the folder of PostgreSQL's programs. */
export type Failover = {
  folder: string;
  programs: string;
  kills: number;
  seed: number;
  say(line: string): void;
};

/** The result of a failover; everything except the counts must be empty. */
export type FailoverOutcome = {
  fates: Record<string, number>;
  events: number;
  written: number;
  runs: number;
  /** Attempts that a later one made up for, by their fault. */
  mended: Record<string, number>;
  longest_s: number;
  ingestion: Pick<Comparison, 'lost' | 'doubled' | 'changed'>;
  exports: Record<string, Comparison>;
  /** Each difference from an answer. */
  faults: string[];
};

const export_names = ['one', 'two', 'three'];
const old_lives_ms = 6_000;

/** True if all acknowledged objects are there once, and every run ended once. */
export function isWhole({ faults, ingestion, exports }: FailoverOutcome): boolean {
  return (
    faults.length === 0 &&
    [ingestion, ...Object.values(exports)].every(
      ({ lost, doubled, changed }) => lost + doubled + changed === 0,
    )
  );
}

/**
 * Two API processes and four workers on a PostgreSQL with a synchronous standby. Events, changes
 * and exports continue while one primary after the other fails and its standby is promoted. At the
 * end, everything that was acknowledged must be there.
 */
export async function runFailover(failover: Failover): Promise<FailoverOutcome> {
  const closing: (() => Promise<unknown>)[] = [];
  try {
    return await play(failover, (close) => void closing.push(close));
  } finally {
    for (const close of closing.toReversed()) await close();
  }
}

type Later = (close: () => Promise<unknown>) => void;

async function play(failover: Failover, later: Later): Promise<FailoverOutcome> {
  const { trio, crew, site, environment } = await openWorld(failover, later);
  const ids = await createExports(crew);
  const load = startLoad(crew);
  const history = watchRuns(site.db);
  const due = startDue(site, ids);
  const told = () =>
    `${load.sent.size} events, ${load.created.size} changes, ${history.count()} runs`;
  const rounds = await failOverAll(failover, { trio, crew, told });
  await load.stop();
  await due.stop();
  await settle(site, ids);
  const found = await compare(site, ids, load);
  const more = await judge(site, { crew, load, environment });
  return {
    ...rounds,
    events: load.sent.size,
    written: load.created.size,
    runs: history.count(),
    mended: Object.fromEntries(crew.faults),
    ...found,
    faults: [...more, ...(await history.findFaults())],
  };
}

async function openWorld({ folder, programs, seed }: Failover, later: Later) {
  const trio = await openTrio(folder, programs, openRandom(seed, 1));
  later(trio.close);
  const clickhouse = await openEmbeddedClickHouse({
    folder: join(folder, 'clickhouse'),
    log: silentLog(),
    memory_bytes_max: 1_500_000_000,
  });
  later(clickhouse.stop);
  const key = createApiKey();
  const environment = serverEnvironment(folder, key, {
    SLUICE_DATABASE_URL: trio.url,
    SLUICE_CLICKHOUSE_URL: clickhouse.url,
    SLUICE_SECRET_KEY: 'a secret that only this campaign has',
    // Runs fail here because PostgreSQL goes down, and nobody would unpause the export.
    SLUICE_PAUSE_AFTER_FAILURES: '0',
  });
  const crew = await openCrew(folder, environment, key);
  later(crew.close);
  const site = openSite(crew, trio.url, clickhouse.url, join(folder, 'exports'));
  later(site.close);
  return { trio, crew, site, environment };
}

/** Fails one primary after another. Throws if a process of the server ends. */
async function failOverAll(
  { kills, seed, say }: Failover,
  { trio, crew, told }: { trio: Trio; crew: Crew; told(): string },
): Promise<Pick<FailoverOutcome, 'fates' | 'longest_s'>> {
  const random = openRandom(seed, 0);
  const met: Record<string, number> = {};
  let longest_s = 0;
  for (let round = 0; round < kills; round += 1) {
    await pause(random.between(1_000, 4_000));
    const fate = fates[(round + seed) % fates.length] as Fate;
    const [began, old] = [performance.now(), trio.primary().name];
    await trio.failOver(fate, async () => {
      const seconds = Math.round((performance.now() - began) / 100) / 10;
      longest_s = Math.max(longest_s, seconds);
      const now = trio.primary().name;
      say(`${round + 1}: ${old} was ${fate}, ${now} with a standby in ${seconds} s; ${told()}`);
      await pause(fate === 'killed' ? 1_000 : old_lives_ms);
    });
    met[fate] = (met[fate] ?? 0) + 1;
    const ended = crew.listEnded();
    if (ended.length > 0) throw new Error(ended.join('\n'));
  }
  return { fates: met, longest_s };
}

type OpenSite = Pick<Site, 'db' | 'clickhouse' | 'call' | 'up' | 'export_dir'> & {
  close(): Promise<void>;
};

function openSite(
  crew: Crew,
  database_url: string,
  clickhouse_url: string,
  export_dir: string,
): OpenSite & Site {
  const db = openDatabase(database_url, {
    connections_max: 4,
    application_name: 'campaign',
    watch_ms: 2_000,
  });
  const clickhouse = openClickHouse(clickhouse_url, { application: 'campaign' });
  const site: OpenSite = {
    db,
    clickhouse,
    export_dir,
    call: (method, path, body) => crew.ask(method, path, body),
    up: crew.up,
    close: async () => {
      await db.close();
      await clickhouse.close();
    },
  };
  return site as OpenSite & Site;
}

async function createExports(crew: Crew): Promise<string[]> {
  const ids: string[] = [];
  for (const name of export_names) {
    const { status, body } = await crew.ask('POST', '/api/projects/@current/batch_exports/', {
      name,
      interval: 'every 5 minutes',
      destination: { type: 'File', config: { prefix: name, file_format: 'JSONLines' } },
    });
    if (status !== 201) throw new Error(JSON.stringify(body));
    ids.push(String(body['id']));
  }
  return ids;
}

/** Makes the rows ingested so far due, every two seconds. */
function startDue(site: Site, ids: string[]) {
  let isStopping = false;
  const done = (async () => {
    while (!isStopping) {
      for (const id of ids) await comeDue(site, id).catch(() => undefined);
      await pause(2_000);
    }
  })();
  return {
    stop: async () => {
      isStopping = true;
      await done;
    },
  };
}

async function compare(
  site: OpenSite,
  ids: string[],
  load: Load,
): Promise<Pick<FailoverOutcome, 'ingestion' | 'exports'>> {
  const source = await readSource(site);
  const exports: Record<string, Comparison> = {};
  for (const [index, name] of export_names.entries())
    exports[name] = await compareRows(
      site.db,
      { batch_export_id: ids[index]!, revision: 1 },
      source,
      await readFiles(site, name),
      { inserted_from: 0 },
    );
  return { ingestion: compareIngestion(load.sent, source, 0), exports };
}

/**
 * Finds acknowledged events that are not there exactly once, and sends the server requests about
 * itself.
 */
async function judge(
  { db }: { db: Database },
  { crew, load, environment }: { crew: Crew; load: Load; environment: Record<string, string> },
): Promise<string[]> {
  const faults = [...load.failed, ...crew.listEnded()];
  const rows = await db.rows<{ id: string; name: string; entries: number }>(sql`
    SELECT export.id, export.name, (SELECT count(*) FROM activity
      WHERE item_name = export.name)::int AS entries
    FROM batch_exports export WHERE export.name LIKE 'written %'`);
  for (const [name, id] of load.created) {
    const found = rows.filter((row) => row.name === name);
    if (found.length !== 1 || found[0]!.id !== id || found[0]!.entries !== 1)
      faults.push(`${name} was answered as ${id}, and is ${JSON.stringify(found)}`);
  }
  if (rows.length > load.created.size)
    faults.push(`${rows.length} exports were created, ${load.created.size} answered`);
  for (const command of ['verify', 'doctor']) {
    const { code, out, err } = await runSluice([command], environment);
    if (code !== 0) faults.push(`sluice ${command} ended with ${code}:\n${out}\n${err}`);
  }
  return faults;
}
