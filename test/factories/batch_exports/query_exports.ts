import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { advanceBackfills } from '../../../server/engine/exports/runs/advance_backfills.ts';
import { claimRun } from '../../../server/engine/exports/workers/claims.ts';
import { executeRun } from '../../../server/engine/exports/delivery/execute.ts';
import { planDueExports } from '../../../server/engine/exports/runs/plan_due_exports.ts';
import { insertRows } from '../events/insert_rows.ts';
import { newExport, projectBase } from './batch_exports.ts';
import { eventually } from '../../eventually.ts';
import { openHarness } from '../../harness.ts';
import type { Answer, Harness, HarnessOptions, TestOrganization } from '../../harness.ts';

/**
 * An event of a test, with defaults for missing fields. `at` is its time and its insertion time.
 */
export type TestEvent = { event: string; at: string; distinct_id?: string; properties?: object };
/** A version of a person. */
export type TestPerson = { distinct_id: string; at: string; version: number; properties?: object };

/** A server whose exports run when a test says so, and the folder of its files. */
export type QueryHarness = {
  harness: Harness;
  folder: string;
  insert(home: TestOrganization, events: TestEvent[], persons?: TestPerson[]): Promise<void>;
  /**
   * Creates an export with this query, whose scheduled runs are the first three hours of 2026, or
   * as many as `hours` says.
   */
  scheduled(
    home: TestOrganization,
    body: Record<string, unknown>,
    hours?: number,
  ): Promise<{
    id: string;
    get(path: string): Promise<Answer>;
    send(method: string, path: string, body?: unknown): Promise<Answer>;
  }>;
  /** Moves the schedule of the export on, up to this hour of its day. */
  extend(id: string, hours: number): Promise<void>;
  /**
   * Plans what is due, executes every open run of the export once, oldest first, and returns its
   * runs by interval.
   */
  runAll(id: string): Promise<TestRun[]>;
  /** Plans what is due and returns the export's open runs, oldest first. */
  plan(id: string): Promise<{ id: string }[]>;
  /** Plans and executes the runs of a backfill until it is over. */
  advance(id: string, backfillId: string): Promise<void>;
  /** Returns the files of a folder with this ending, in order of their names. */
  filesIn(prefix: string, end: string): Promise<Buffer[]>;
  close(): Promise<void>;
};
/** The fields of a run that a test reads. */
export type TestRun = {
  id: string;
  status: string;
  error_code: string | null;
  latest_error: string | null;
  records_completed: number | null;
  attempt: number;
  custom_query: string | null;
};

/** Opens a harness on real stores. */
export async function openQueryHarness(options: HarnessOptions = {}): Promise<QueryHarness> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-query-'));
  const harness = await openHarness({
    ...options,
    config: { export_dir: folder, settle_seconds: 1, ...options.config },
  });
  return {
    harness,
    folder,
    insert: (home, events, persons) => insert(harness, home, events, persons),
    scheduled: (home, body, hours = 3) => scheduled(harness, { home, body, hours }),
    extend: (id, hours) => extend(harness, id, hours),
    runAll: (id) => runAll(harness, id),
    plan: (id) => plan(harness, id),
    advance: (id, backfillId) => advance(harness, id, backfillId),
    filesIn: async (prefix, end) => {
      const names = (await readdir(join(folder, prefix)).catch(() => []))
        .filter((name) => name.endsWith(end))
        .toSorted();
      return Promise.all(names.map((name) => readFile(join(folder, prefix, name))));
    },
    close: async () => {
      await harness.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const stamp = (at: string) => at.replace('T', ' ').replace('Z', '');

async function insert(
  { deps }: Harness,
  home: TestOrganization,
  events: TestEvent[],
  persons: TestPerson[] = [],
): Promise<void> {
  const team_id = home.project.id;
  const rows = events.map(({ event, at, distinct_id = 'd', properties = {} }) => ({
    team_id,
    uuid: crypto.randomUUID(),
    event,
    distinct_id,
    person_id: crypto.randomUUID(),
    properties: JSON.stringify(properties),
    person_properties: '{}',
    elements_chain: '',
    timestamp: stamp(at),
    created_at: stamp(at),
    inserted_at: stamp(at),
  }));
  const people = persons.map(({ distinct_id, at, version, properties = {} }) => ({
    team_id,
    distinct_id,
    person_id: crypto.randomUUID(),
    properties: JSON.stringify(properties),
    person_version: version,
    person_distinct_id_version: version,
    is_deleted: 0,
    created_at: stamp(at),
    inserted_at: stamp(at),
  }));
  if (rows.length > 0) await insertRows(deps.clickhouse, rows);
  if (people.length > 0)
    await deps.clickhouse.insert({ table: 'persons', values: people, format: 'JSONEachRow' });
}

async function scheduled(
  harness: Harness,
  { home, body, hours }: { home: TestOrganization; body: Record<string, unknown>; hours: number },
) {
  const { id } = await newExport(home, body);
  const end_at = `2026-01-01T0${hours}:00:00Z`;
  await harness.deps.db.run(sql`
    UPDATE batch_exports SET planned_until = '2026-01-01T00:00:00Z',
      next_run_at = '2026-01-01T01:00:00Z', end_at = ${end_at} WHERE id = ${id}`);
  const url = `${projectBase(home)}${id}/`;
  return {
    id: id as string,
    get: (path: string) => home.ask('GET', `${url}${path}`),
    send: (method: string, path: string, sent?: unknown) => home.ask(method, `${url}${path}`, sent),
  };
}

async function extend({ deps }: Harness, id: string, hours: number): Promise<void> {
  const end_at = `2026-01-01T0${hours}:00:00Z`;
  // Exports are planned together: this one may have been planned up to its end with another.
  await deps.db.run(sql`
    UPDATE batch_exports SET end_at = ${end_at}, next_run_at =
      CASE WHEN planned_until < ${end_at} THEN planned_until + interval '1 hour' END
    WHERE id = ${id}`);
}

async function plan(harness: Harness, id: string): Promise<{ id: string }[]> {
  // Another process may be planning it, beside exports of other projects; this waits for it.
  await eventually('The export is still due.', async () => {
    const { db, engine } = harness.deps;
    while ((await planDueExports(engine)) > 0);
    const due = await db.row(sql`
      SELECT 1 FROM batch_exports WHERE id = ${id} AND NOT paused
        AND next_run_at < now() - make_interval(secs => ${engine.settle_seconds})`);
    return due === undefined;
  });
  return harness.deps.db.rows(sql`
    SELECT id FROM batch_export_runs WHERE batch_export_id = ${id}
      AND status IN ('Starting', 'Running') ORDER BY data_interval_start, created_at`);
}

async function advance(harness: Harness, id: string, backfillId: string): Promise<void> {
  const engine = { ...harness.deps.engine, settle_seconds: 0 };
  for (;;) {
    await advanceBackfills(engine);
    await runAll(harness, id);
    const open = await harness.deps.db.row(
      sql`SELECT 1 FROM batch_export_backfills WHERE id = ${backfillId} AND finished_at IS NULL`,
    );
    if (open === undefined) return;
  }
}

async function runAll(harness: Harness, id: string): Promise<TestRun[]> {
  for (const { id: run_id } of await plan(harness, id)) {
    const run = await claimRun(harness.deps.db, run_id, randomUUID());
    if (run !== undefined) await executeRun(harness.deps.engine, run, new AbortController().signal);
  }
  const runs = await harness.deps.db.rows<TestRun>(sql`
    SELECT id, status, error_code, latest_error, records_completed, attempt, custom_query
      FROM batch_export_runs WHERE batch_export_id = ${id}
      ORDER BY data_interval_start, created_at`);
  assert.ok(runs.length > 0, 'nothing was planned');
  return runs;
}
