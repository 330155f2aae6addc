// Exports to an Iceberg table while workers die, answers to commits are lost, PyIceberg (PyPI)
// writes to the same table and compacts it, and our maintenance compacts it, expires snapshots and
// deletes files, is killed too and loses answers; then reads the table, compares each row, and
// looks for each file that is named. npm run lake_faults [-- --seed 7 --kills 1000 --answers 1000
// --conflicts 1000 --compactions 100 --rounds 1000 --runs 60 --catalog both --python python3
// --minutes 600]; minutes are those of each catalog, rounds those of maintenance. Kills are fault
// points in this process: a dead worker makes no further call, and its requests continue.
// --catalog own|rest|nessie|fixture|tables|both: `rest` is our own, asked by its REST routes.
// Nessie and the REST fixture of Apache Iceberg are installed into peers/, and keep their tables in
// a bucket of SeaweedFS, which Sluice does not maintain; `tables` is a table bucket of SeaweedFS.
// --naive commits as writers do that name no delivery, which fails.
import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import sql from 'sql-template-tag';
import { claimRun } from '../../server/engine/exports/workers/claims.ts';
import { executeRun } from '../../server/engine/exports/delivery/execute.ts';
import { openQueryHarness } from '../../test/factories/batch_exports/query_exports.ts';
import type { TestOrganization } from '../../test/harness.ts';
import { drawsOf } from '../../test/factories/events/generated_json.ts';
import { anySeed, readOptions } from '../options.ts';
import { faultyEngine, settleLate } from '../../test/factories/batch_exports/faulty_worker.ts';
import type { Answer } from '../../test/factories/batch_exports/faulty_worker.ts';
import { maintain, nothing_maintained } from './lake_faults/maintenance.ts';
import type { Maintained } from './lake_faults/maintenance.ts';
import { openTarget, targetsOf } from './lake_faults/targets.ts';
import type { Target } from './lake_faults/targets.ts';
import { startWriter } from './lake_faults/writer.ts';
import type { WrittenTable } from './lake_faults/writer.ts';

type Counts = Record<'kills' | 'answers' | 'conflicts' | 'compactions' | 'rounds', number>;
type Done = Counts & Maintained;
type Table = Awaited<ReturnType<typeof newTable>>;

const options = readOptions({
  seed: anySeed(),
  kills: 1_000,
  answers: 1_000,
  conflicts: 1_000,
  compactions: 100,
  rounds: 1_000,
  runs: 60,
  minutes: 600,
  catalog: 'both',
  python: 'python3',
  naive: false,
});
const wanted: Counts = options;
const draw = drawsOf(options.seed);
const kills_per_run_max = 3;
const boundaries_max = 60;
const attempts_max = 14;
const exporting = await openQueryHarness({ watch: false });
const writer = await startWriter(options.python);
const faults: string[] = [];
try {
  await exporting.harness.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = exporting.harness.app.server.address() as AddressInfo;
  const uri = `http://127.0.0.1:${port}/iceberg`;
  const asked = options.naive && options.catalog === 'both' ? 'rest' : options.catalog;
  for (const name of targetsOf(asked)) {
    const target = await openTarget(name, uri);
    await strike(target).finally(target.close);
  }
  for (const fault of faults) console.log(`WRONG ${fault}`);
  process.exitCode = faults.length === 0 ? 0 : 1;
} finally {
  await writer.stop();
  await exporting.close();
}

/** Tests one catalog after another, a table at a time, until all faults have occurred. */
async function strike(target: Target): Promise<void> {
  const { name: kind } = target;
  const until = Date.now() + options.minutes * 60_000;
  const began = performance.now();
  const done = { kills: 0, answers: 0, conflicts: 0, compactions: 0, ...nothing_maintained };
  const isDone = () =>
    Date.now() > until ||
    (['kills', 'answers', 'conflicts', 'compactions', 'rounds'] as const).every(
      // Sluice does not maintain tables of foreign catalogs.
      (n) => done[n] >= wanted[n] || (n === 'rounds' && !target.is_ours),
    );
  let [tables, runs, rows, files, checks] = [0, 0, 0, 0, 0];
  while (!isDone()) {
    const table = await newTable(target);
    tables += 1;
    const [foreign, ours] = [new Set<string>(), new Set<string>()];
    const check = async () => {
      const seen = await writer.check(table.written);
      checks += 1;
      compare(kind, seen, new Set([...ours, ...foreign]));
      return seen;
    };
    for (const { id, uuids } of await table.runs()) {
      if (isDone() || faults.length > 0) break;
      await deliver(target, table, id, { done, foreign, is_first: ours.size === 0 });
      for (const uuid of uuids) ours.add(uuid);
      runs += 1;
      if (draw(3) > 0 || faults.length > 0) continue;
      await maintainOf(target, table, done, true);
      await check();
    }
    await settleLate();
    if (faults.length > 0 || ours.size === 0) break;
    const seen = await check();
    rows += seen.rows.length;
    files += seen.files;
    if (faults.length > 0) break;
  }
  const seconds = Math.round((performance.now() - began) / 1000);
  console.log(
    `${kind}, seed ${options.seed}: ${runs} runs into ${tables} tables, ${done.kills} kills, ` +
      `${done.answers} answers lost, ${done.conflicts} commits of PyIceberg in between, ` +
      `${done.compactions} compactions; ${done.rounds} rounds of maintenance, ` +
      `${done.rounds_killed} of them killed, ${done.round_answers} answers lost: ` +
      `${done.files_compacted} files compacted, ${done.manifests_merged} manifests merged, ` +
      `${done.snapshots_expired} snapshots expired, ${done.files_deleted} files deleted; ` +
      `${rows} rows and ${files} named files compared, ${checks} times on the way, ` +
      `${faults.length} wrong; ${seconds} s`,
  );
}

/** Runs a round of maintenance; a quiet one if nobody else uses the table. */
async function maintainOf(target: Target, { team_id }: Table, done: Done, is_quiet: boolean) {
  if (is_quiet) await settleLate();
  if (!target.is_ours) return;
  const { engine } = exporting.harness.deps;
  const wrong = await maintain(engine, { team_id, draw, is_quiet }, done);
  if (wrong !== undefined) faults.push(`${target.name}: maintenance: ${wrong}`);
}

function compare(kind: string, seen: { rows: string[]; missing: string[] }, expected: Set<string>) {
  const counted = new Map<string, number>();
  for (const uuid of seen.rows) counted.set(uuid, (counted.get(uuid) ?? 0) + 1);
  const lost = [...expected].filter((uuid) => !counted.has(uuid));
  const doubled = [...counted].filter(([, count]) => count > 1);
  const strange = [...counted.keys()].filter((uuid) => !expected.has(uuid));
  for (const file of seen.missing) faults.push(`${kind}: ${file} is named and gone`);
  if (seen.missing.length > 0) return;
  if (lost.length > 0) faults.push(`${kind}: ${lost.length} rows lost, as ${lost[0]}`);
  if (doubled.length > 0) faults.push(`${kind}: ${doubled.length} rows doubled`);
  if (strange.length > 0) faults.push(`${kind}: ${strange.length} rows of nobody`);
}

/** Creates a table with its own export of two events an hour. */
async function newTable(target: Target) {
  const { db, clickhouse } = exporting.harness.deps;
  const home = await exporting.harness.newOrganization();
  const team_id = home.project.id;
  const { config, client } = target.of(home);
  const namespace = target.is_ours ? 'sluice' : `shop${team_id}`;
  const { id } = await exporting.scheduled(
    home,
    {
      destination: { type: 'Iceberg', config: { ...config, namespace, table: 'events' } },
      custom_query: 'SELECT toString(uuid) AS uuid, event, timestamp FROM events',
    },
    1,
  );
  const hours = Array.from({ length: options.runs }, (_, hour) =>
    new Date(Date.UTC(2026, 0, 1, hour, 30)).toISOString().slice(0, 19).replace('T', ' '),
  );
  const events = hours.map((at) => ({ at, uuids: [randomUUID(), randomUUID()] }));
  await clickhouse.insert({
    table: 'events',
    format: 'JSONEachRow',
    values: events.flatMap(({ at, uuids }) => uuids.map((uuid) => eventOf(team_id, uuid, at))),
  });
  const end_at = new Date(Date.UTC(2026, 0, 1, options.runs)).toISOString();
  await db.run(sql`UPDATE batch_exports SET end_at = ${end_at} WHERE id = ${id}`);
  const property = target.is_asked ? 'sluice.maintenance' : 'sluice.foreign-commits';
  if (target.is_ours) await newNamespace(home, { [property]: 'true' });
  const written: WrittenTable = { client, table: `${namespace}.events` };
  const planned = async () =>
    (await exporting.plan(id)).map((run, at) => ({ id: run.id, uuids: events[at]!.uuids }));
  return { written, team_id, runs: planned };
}

/** Allows clients to commit to tables of an export, or has clients' tables maintained. */
async function newNamespace(home: TestOrganization, updates: Record<string, string>) {
  const path = `/iceberg/v1/${home.project.id}/namespaces`;
  const created = await home.ask('POST', path, { namespace: ['sluice'], properties: {} });
  if (created.status !== 200) throw new Error(`No namespace: ${created.status}`);
  const set = await home.ask('POST', `${path}/sluice/properties`, { removals: [], updates });
  if (set.status !== 200) throw new Error(`No properties: ${set.status}`);
}

function eventOf(team_id: number, uuid: string, at: string) {
  return {
    team_id,
    uuid,
    event: 'struck',
    distinct_id: 'd',
    person_id: randomUUID(),
    properties: '{}',
    person_properties: '{}',
    elements_chain: '',
    timestamp: at,
    created_at: at,
    inserted_at: at,
  };
}

/** Delivers a run with as many workers as it needs; no fault hits the later ones. */
async function deliver(
  target: Target,
  table: Table,
  run_id: string,
  round: { done: Done; foreign: Set<string>; is_first: boolean },
): Promise<void> {
  const { db, engine } = exporting.harness.deps;
  const { done, foreign, is_first } = round;
  const answers: Answer[] = Array.from(
    { length: draw(4) },
    () => (['lost before', 'lost after', 'late'] as const)[draw(target.is_asked ? 3 : 2)]!,
  );
  // The first run creates the table.
  let meddle = is_first ? undefined : () => meddleWith(table.written, foreign, done);
  const beside = Promise.all([
    target.is_asked ? undefined : meddle?.(),
    draw(2) === 0 ? maintainOf(target, table, done, false) : undefined,
  ]);
  // It is awaited after the run, whose own error comes first.
  beside.catch(() => undefined);
  if (!target.is_asked) meddle = undefined;
  let kills = draw(kills_per_run_max + 1);
  for (let attempt = 1; attempt <= attempts_max; attempt += 1) {
    await db.run(sql`UPDATE batch_export_runs SET worker_id = NULL, due_at = now()
      WHERE id = ${run_id} AND status IN ('Starting', 'Running')`);
    const run = await claimRun(db, run_id, randomUUID());
    if (run === undefined) break;
    const worker = new AbortController();
    const own = {
      kill_at: kills > 0 ? 1 + draw(boundaries_max) : undefined,
      answers,
      before_commit: meddle,
      is_naive: options.naive,
    };
    const { engine: faulty, struck } = faultyEngine(engine, own, () => worker.abort('shutdown'));
    await executeRun(faulty, run, worker.signal).catch((error: unknown) => {
      if (!struck.killed) throw error;
    });
    if (own.before_commit === undefined) meddle = undefined;
    done.kills += struck.killed ? 1 : 0;
    done.answers += struck.answers;
    kills -= 1;
    if (!struck.killed || draw(3) > 0) continue;
    await beside;
    await maintainOf(target, table, done, true);
  }
  await beside;
  const ended = await db.row<{ status: string; latest_error: string | null }>(
    sql`SELECT status, latest_error FROM batch_export_runs WHERE id = ${run_id}`,
  );
  if (ended?.status !== 'Completed')
    faults.push(`${target.name}: a run is ${ended?.status}: ${ended?.latest_error ?? ''}`);
}

/** PyIceberg adds a row, replaces one of its own, or writes all rows into new files. */
async function meddleWith(table: WrittenTable, foreign: Set<string>, done: Done): Promise<void> {
  const compacts = done.compactions < wanted.compactions && draw(10) === 0;
  if (compacts) {
    await writer.compact(table);
    done.compactions += 1;
    return;
  }
  const [id, old] = [randomUUID(), draw(2) === 0 ? [...foreign][0] : undefined];
  if (old === undefined) await writer.append(table, id);
  else {
    await writer.overwrite(table, id, old);
    foreign.delete(old);
  }
  foreign.add(id);
  done.conflicts += 1;
}
