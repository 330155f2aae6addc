import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import sql from 'sql-template-tag';
import { findFreePort } from '../../server/platform/embedded/free_port.ts';
import { createApiKey } from '../../server/platform/http/caller/api_key.ts';
import { compareIngestion, compareRows, readSource } from '../chaos/compare.ts';
import type { Comparison } from '../chaos/compare.ts';
import { openSite } from '../chaos/deployment.ts';
import type { Keep, Site } from '../chaos/deployment.ts';
import { comeDue } from '../chaos/operations.ts';
import { settle } from '../chaos/settle.ts';
import { openStartLog } from '../chaos/start_log.ts';
import { main, startServer, until } from '../processes/server_process.ts';
import type { ServerProcess } from '../processes/server_process.ts';
import { runSluice } from '../processes/sluice_process.ts';
import { openBalancer } from './balancer.ts';
import type { Balancer } from './balancer.ts';
import { startLoad } from './load.ts';
import { layOutRelease } from './release.ts';
import { openRolledPlaces } from './rolled_places.ts';
import type { RolledPlace } from './rolled_places.ts';

/** The update: the old commit, the rate of requests, and the time side by side. */
export type Rolling = {
  folder: string;
  from: string;
  per_second: number;
  side_by_side_seconds: number;
  say(line: string): void;
};

/** The result of the update; `failed`, `wrong` and the comparisons must be empty. */
export type RollingOutcome = {
  asked: number;
  skipped: number;
  wrong: number;
  failed: string[];
  /** Attempts that a later one made up for, by their fault. */
  mended: Record<string, number>;
  /** The message of the first failed attempt, by its fault. */
  first_words: Record<string, string>;
  longest_ms: number;
  events: number;
  source: number;
  ingestion: Pick<Comparison, 'lost' | 'doubled' | 'changed'>;
  destinations: Record<string, Comparison>;
  /** Completed runs by the release that worked on them last. */
  runs: Record<string, number>;
  /** The milliseconds in which each process stopped. */
  stops: Record<string, number>;
  /** The message of the old release when the schema requires a newer one. */
  refusal: string;
};

const names = ['api 1', 'worker 1', 'api 2', 'worker 2'] as const;
type Name = (typeof names)[number];
const drain_seconds = 2;

/** True when no request failed for good, and nothing was lost, doubled or changed. */
export function isSeamless({ failed, wrong, ingestion, destinations }: RollingOutcome): boolean {
  return (
    failed.length + wrong === 0 &&
    [ingestion, ...Object.values(destinations)].every(
      ({ lost, doubled, changed }) => lost + doubled + changed === 0,
    )
  );
}

/**
 * Runs two API processes and two workers of an older commit. It replaces one after another by this
 * checkout's while requests and events arrive and exports run, and compares every row afterwards.
 */
export async function runRolling(rolling: Rolling): Promise<RollingOutcome> {
  const closing: (() => Promise<unknown>)[] = [];
  const keep: Keep = (part, close) => {
    closing.push(() => close(part));
    return part;
  };
  try {
    return await roll(rolling, keep);
  } finally {
    for (const step of closing.toReversed()) await step();
  }
}

async function roll(rolling: Rolling, keep: Keep): Promise<RollingOutcome> {
  const { folder, say } = rolling;
  const old = await layOutRelease(join(folder, 'old'), rolling.from);
  mkdirSync(join(folder, 'stores'));
  const key = createApiKey();
  const starts = openStartLog(join(folder, 'starts.log'));
  const opened = await openSite(join(folder, 'stores'), keep, starts, key);
  const { site: parts } = opened;
  keep(await opened.startStore(), async (store) => store.kill('SIGKILL'));
  const crew = keep(await openCrew(parts.environment, say), (open) => open.stop());
  for (const name of names) await crew.start(name, old.program);
  say(`Two API processes and two workers of ${old.commit} are up.`);
  const balancer = keep(await openBalancer(crew.addresses, key), (open) => open.close());
  const site: Site = {
    ...parts,
    call: (method, path, body) => balancer.ask(method, path, body),
    up: async () => {
      await until('both API processes to be ready', 60_000, 100, async () =>
        crew.addresses.every(balancer.isReady) ? true : undefined,
      );
    },
  };
  const places = await openRolledPlaces(site, keep);
  const exports = await createExports(site, places);
  const ids = Object.values(exports);
  const load = startLoad(balancer, rolling.per_second, ids);
  const due = startDue(site, ids);
  await pause(3_000);
  const stops = await replaceEach(rolling, crew, balancer);
  await load.stop();
  await due.stop();
  await settle(site, ids);
  const source = await readSource(site);
  const sent = load.digests();
  return {
    ...load.counts,
    failed: load.failed,
    mended: Object.fromEntries(balancer.faults),
    first_words: Object.fromEntries(balancer.first_words),
    longest_ms: balancer.counts.longest_ms,
    events: sent.size,
    source: source.length,
    ingestion: compareIngestion(sent, source, 0),
    destinations: await compareAll(site, { exports, places }, source),
    runs: await countRuns(site),
    stops,
    refusal: await refuse(site, parts.environment),
  };
}

/**
 * Replaces each process by one of this checkout, then each once more, and reports the time of each.
 */
async function replaceEach(
  { say, side_by_side_seconds }: Rolling,
  crew: Crew,
  balancer: Balancer,
): Promise<Record<string, number>> {
  const stops: Record<string, number> = {};
  const environment = { SLUICE_DRAIN_SECONDS: String(drain_seconds) };
  for (const name of names) {
    stops[name] = await crew.stopOne(name);
    await crew.start(name, main, environment);
    say(`${name} is of this release; it took ${stops[name]} ms to stop; ${told(balancer)}`);
    await pause((side_by_side_seconds * 1000) / names.length);
  }
  // Again, now from this release to itself: it tests a stop on request.
  for (const name of names) {
    stops[`${name} again`] = await crew.stopOne(name);
    await crew.start(name, main, environment);
    say(`${name} was started anew; it took ${stops[`${name} again`]} ms; ${told(balancer)}`);
  }
  return stops;
}

const told = ({ counts, faults }: Balancer) =>
  `${counts.answers} answers, tries that failed: ${JSON.stringify(Object.fromEntries(faults))}`;

type Crew = Awaited<ReturnType<typeof openCrew>>;

/** The four processes; each API process keeps its own port. */
async function openCrew(environment: Record<string, string>, say: (line: string) => void) {
  const running = new Map<Name, ServerProcess>();
  const ports = new Map<Name, number>();
  for (const name of names) ports.set(name, await findFreePort());
  const stopOne = async (name: Name) => {
    const began = performance.now();
    const process = running.get(name);
    const code = await process?.stop();
    if (code !== 0) say(`${name} ended with ${code}:\n${process?.output()}`);
    return Math.round(performance.now() - began);
  };
  return {
    addresses: names
      .filter((name) => name.startsWith('api'))
      .map((name) => `http://127.0.0.1:${ports.get(name)}`),
    start: async (name: Name, program: string, more: Record<string, string> = {}) => {
      const all = { ...environment, ...more, SLUICE_PORT: String(ports.get(name)) };
      running.set(name, await startServer([name.split(' ')[0]!], all, program));
    },
    stopOne,
    stop: () => Promise.all([...running.keys()].map(stopOne)),
  };
}

async function createExports(site: Site, places: RolledPlace[]): Promise<Record<string, string>> {
  const exports: Record<string, string> = {};
  for (const { type, config } of places) {
    const created = await site.call('POST', '/api/projects/@current/batch_exports/', {
      name: type,
      interval: 'every 5 minutes',
      destination: { type, config },
    });
    if (created.status !== 201) throw new Error(JSON.stringify(created.body));
    exports[type] = String(created.body['id']);
  }
  return exports;
}

/** Makes the rows ingested so far due, about once a second. */
function startDue(site: Site, ids: string[]) {
  let isStopping = false;
  const done = (async () => {
    while (!isStopping) {
      for (const id of ids) await comeDue(site, id);
      await pause(1_000);
    }
  })();
  return {
    stop: async () => {
      isStopping = true;
      await done;
    },
  };
}

async function compareAll(
  site: Site,
  { exports, places }: { exports: Record<string, string>; places: RolledPlace[] },
  source: Awaited<ReturnType<typeof readSource>>,
): Promise<Record<string, Comparison>> {
  const compared: Record<string, Comparison> = {};
  for (const { type, read } of places)
    compared[type] = await compareRows(
      site.db,
      { batch_export_id: exports[type]!, revision: 1 },
      source,
      await read(),
      { inserted_from: 0 },
    );
  return compared;
}

/** A release before this one does not record the steps of its attempts. */
async function countRuns({ db }: Site): Promise<Record<string, number>> {
  const rows = await db.rows<{ by: string; runs: number }>(sql`
    SELECT CASE WHEN attempt = 0 THEN 'without rows' WHEN steps = '[]' THEN 'old release'
      ELSE 'new release' END AS by, count(*)::int AS runs
    FROM batch_export_runs WHERE status = 'Completed' GROUP BY 1 ORDER BY 1`);
  return Object.fromEntries(rows.map(({ by, runs }) => [by, runs]));
}

/** Simulates a later release that removed something this one needs: it must not start. */
async function refuse({ db }: Site, environment: Record<string, string>): Promise<string> {
  await db.run(sql`INSERT INTO migrations (name, sha256, release, oldest_release)
    VALUES ('9999_contract.sql', ${randomUUID()}, '99.1.0', '99.0.0')`);
  const { code, err } = await runSluice(['api'], environment);
  if (code !== 1 || !err.includes('99.1.0')) throw new Error(`It ended with ${code}: ${err}`);
  return err.trim();
}
