import { join } from 'node:path';
import sql from 'sql-template-tag';
import { isSigned } from '../../server/platform/secrets/secrets.ts';
import { until } from '../processes/server_process.ts';
import { openDeployment, victims } from './deployment.ts';
import type { Deployment } from './deployment.ts';
import { openErasedPlaces, searchBytes } from './erased_places.ts';
import type { ErasedPlace, PlaceContents } from './erased_places.ts';
import { openRandom } from './random.ts';
import type { Random } from './random.ts';
import { fill, needle, project, sendEvents } from './erased_people.ts';

/** The result of the erasures; `faults` name rows that remain, and others that were changed. */
export type ErasuresOutcome = {
  events: number;
  kills: Record<string, number>;
  seconds: Record<string, number>;
  faults: string[];
};

/** `erasures` share the persons and the kills. */
export type ErasuresWanted = {
  folder: string;
  events: number;
  persons: number;
  erasures: number;
  kills: number;
  seed: number;
  say: (line: string) => void;
};

const stores = ['postgres', 'clickhouse'];

/**
 * Fills a project by the API, exports it to every place that can be rewritten, and erases persons,
 * with kills of every process in the middle. Afterwards no file of either store and no file, object
 * or table contains them. Everything else is unchanged, and `verify` finds nothing. Then the
 * organization is deleted, and neither store has anything of that.
 */
export async function runErasures(wanted: ErasuresWanted): Promise<ErasuresOutcome> {
  const deployment = await openDeployment(wanted.folder);
  const random = openRandom(wanted.seed, 0);
  const outcome: ErasuresOutcome = { events: wanted.events, kills: {}, seconds: {}, faults: [] };
  const world = await openErasedPlaces(
    deployment,
    wanted.folder,
    deployment.environment['SLUICE_CLICKHOUSE_URL']!,
  );
  const timed = async <Result>(name: string, work: () => Promise<Result>): Promise<Result> => {
    const begin = performance.now();
    const result = await work();
    outcome.seconds[name] = Math.round((performance.now() - begin) / 100) / 10;
    wanted.say(`${name}: ${outcome.seconds[name]} s`);
    return result;
  };
  try {
    await timed('fill', () => fill(deployment, wanted));
    await timed('export', () => exportAll(deployment, world.places));
    const before = await contentsOf(deployment, world.places);
    for (const [name, { named }] of Object.entries(before))
      if (named === 0) outcome.faults.push(`${name} had nothing of them before`);
    for (let number = 0; number < wanted.erasures; number += 1)
      await timed(`erasure ${number}`, () => eraseOne(deployment, wanted, random, number, outcome));
    await deployment.up();
    const after = await contentsOf(deployment, world.places);
    outcome.faults.push(...compare(before, after));
    outcome.faults.push(
      ...(await timed('search', () =>
        search(deployment, wanted.folder, [...stores, 'exports', 's3'], needle),
      )),
    );
    outcome.faults.push(...(await verifyAll(deployment)));
    for (const fault of outcome.faults) wanted.say(`FAULT ${fault}`);
    await timed('organization', () => deleteOrganization(deployment));
    // Delivered rows stay at their destination.
    await deployment.clickhouse.command({ query: 'DROP DATABASE warehouse SYNC' });
    outcome.faults.push(...(await search(deployment, wanted.folder, stores, 'keptperson')));
  } finally {
    await world.close();
    await deployment.close();
  }
  return outcome;
}

async function exportAll(deployment: Deployment, places: ErasedPlace[]): Promise<void> {
  const now = Date.now();
  for (const { name, destination, model } of places) {
    const created = await deployment.call('POST', `${project}batch_exports/`, {
      name,
      destination,
      model,
      interval: 'every 5 minutes',
    });
    if (created.status !== 201) throw new Error(`${name}: ${JSON.stringify(created.body)}`);
    const path = `${project}batch_exports/${String(created.body['id'])}/`;
    const range = {
      start_at: new Date(now - 4 * 3_600_000).toISOString(),
      end_at: new Date(now + 60_000).toISOString(),
      mode: 'all',
    };
    const asked = await deployment.call('POST', `${path}backfill/`, range);
    if (asked.status !== 200) throw new Error(`${name}: ${JSON.stringify(asked.body)}`);
    await deployment.call('POST', `${path}pause/`, {});
  }
  await until('the exports to complete', 900_000, 500, async () => {
    const open = await deployment.db.row(sql`
      SELECT 1 FROM batch_export_runs WHERE status IN ('Starting', 'Running') UNION ALL
      SELECT 1 FROM batch_export_backfills WHERE finished_at IS NULL LIMIT 1`);
    return open === undefined ? true : undefined;
  });
  const failed = await deployment.db.rows(
    sql`SELECT latest_error FROM batch_export_runs WHERE status <> 'Completed' LIMIT 3`,
  );
  if (failed.length > 0) throw new Error(JSON.stringify(failed));
}

async function contentsOf(
  deployment: Deployment,
  places: ErasedPlace[],
): Promise<Record<string, PlaceContents>> {
  const contents: Record<string, PlaceContents> = {};
  for (const place of places) contents[place.name] = await place.read(needle);
  for (const table of ['events', 'persons'] as const) {
    const [row] = await deployment.clickhouse.rows<PlaceContents>({
      query: `SELECT toUInt32(countIf(NOT is_named)) AS rows, toUInt32(countIf(is_named)) AS named,
          toString(sumIf(hash, NOT is_named)) AS others
        FROM (SELECT cityHash64(*) AS hash,
          position(concat(distinct_id, properties), '${needle}') > 0 AS is_named FROM ${table})`,
    });
    contents[`the store's ${table}`] = row!;
  }
  return contents;
}

function compare(
  before: Record<string, PlaceContents>,
  after: Record<string, PlaceContents>,
): string[] {
  return Object.entries(before).flatMap(([name, { rows, others }]) => {
    const now = after[name]!;
    return [
      ...(now.named > 0 ? [`${name} still has ${now.named} rows of them`] : []),
      ...(now.rows !== rows || now.others !== others
        ? [`${name} was changed besides: ${rows} rows before, ${now.rows} after`]
        : []),
    ];
  });
}

/** Asks for an erasure, kills while it is in progress, and waits for its certificate. */
async function eraseOne(
  deployment: Deployment,
  { events, persons, erasures, kills, say }: ErasuresWanted,
  random: Random,
  number: number,
  outcome: ErasuresOutcome,
): Promise<void> {
  const ids = Array.from({ length: persons }, (_none, person) => person)
    .filter((person) => person % erasures === number)
    // Some by the id that they started with, some by the later one.
    .map((person) =>
      person % 2 === 0 ? `anonymous-${needle}-${person}` : `${needle}-${person}@example.com`,
    );
  const late_events = number % 2 === 0 ? 'refuse' : 'anonymize';
  const asked = await deployment.call('POST', `${project}erasures/`, {
    distinct_ids: ids,
    late_events,
  });
  if (asked.status !== 201) throw new Error(JSON.stringify(asked.body));
  const path = `${project}erasures/${String(asked.body['id'])}/`;
  let step = '';
  const look = async () => {
    const answer = await deployment.call('GET', path).catch(() => undefined);
    if (answer?.status !== 200) return undefined;
    const { step: now, detail } = answer.body as { step: string; detail: string | null };
    if (now !== step) say(`  ${now}${detail === null ? '' : `: ${detail}`}`);
    step = now;
    return answer.body['status'] === 'Completed' ? answer.body : undefined;
  };
  for (let kill = 0; kill < kills / erasures; kill += 1) {
    // More events take longer, and the kill must be able to hit every step.
    const longest_ms = 4_000 + events / 80;
    await new Promise((resolve) => setTimeout(resolve, 300 + random.next() * longest_ms));
    if ((await look()) !== undefined) break;
    const victim = random.one([...victims]);
    if (deployment.kill(victim)) outcome.kills[victim] = (outcome.kills[victim] ?? 0) + 1;
    say(`  kill ${victim}`);
  }
  const done = await until('the certificate', 900_000, 500, look);
  const { certificate, signature, public_key } = done as Record<string, string>;
  if (!isSigned(certificate!, signature!, public_key!))
    outcome.faults.push(`the certificate of erasure ${number} is not signed`);
  const { copies_for_you } = JSON.parse(certificate!) as { copies_for_you: object[] };
  if (copies_for_you.length > 0) outcome.faults.push(JSON.stringify(copies_for_you));
  const late = await sendEvents(deployment, [
    { event: 'late', distinct_id: ids[0], properties: { note: needle } },
  ]);
  if (late['refused'] !== (late_events === 'refuse' ? 1 : 0))
    outcome.faults.push(`a late event: ${JSON.stringify(late)}`);
  await deployment.clickhouse.command({
    query: "ALTER TABLE events DELETE WHERE distinct_id = '$erased'",
    clickhouse_settings: { mutations_sync: '2' },
  });
}

/**
 * Returns the files of both stores that contain one of the texts. PostgreSQL writes a journal of
 * earlier rows, and reuses its files; these are not searched.
 */
async function search(
  { db, clickhouse }: Deployment,
  folder: string,
  places: string[],
  text: string,
): Promise<string[]> {
  // The server of the target table keeps rewritten rows for a while, so its folders are skipped.
  const result = await clickhouse.rows<{ path: string }>({
    query: `SELECT arrayJoin(data_paths) AS path FROM system.tables WHERE database = 'warehouse'`,
  });
  const theirs = result.map(({ path }) => path.split('/').findLast((part) => part !== '') ?? '');
  await db.text('VACUUM');
  await db.text('CHECKPOINT');
  const faults: string[] = [];
  for (const place of places)
    for (const path of await searchBytes(join(folder, place), text))
      if (!['pg_wal', ...theirs].some((folder) => path.includes(`${folder}/`)))
        faults.push(`${place}/${path} has ${text}`);
  return faults;
}

async function verifyAll(deployment: Deployment): Promise<string[]> {
  const { execFile } = await import('node:child_process');
  const main = new URL('../../server/main.ts', import.meta.url).pathname;
  const text = await new Promise<string>((resolve) => {
    execFile(
      process.execPath,
      [main, 'verify', '--json'],
      { env: deployment.environment, maxBuffer: 64 * 1024 * 1024 },
      (_error, output) => resolve(output),
    );
  });
  const { exports } = JSON.parse(text) as {
    exports: { name: string; fault: string | null; differences: object[] }[];
  };
  return exports
    .filter(({ fault, differences }) => fault !== null || differences.length > 0)
    .map(
      ({ name, fault, differences }) =>
        `${name}: ${fault ?? JSON.stringify(differences.slice(0, 2))}`,
    );
}

async function deleteOrganization(deployment: Deployment): Promise<void> {
  const gone = await deployment.call('DELETE', '/api/organizations/@current/');
  if (gone.status !== 204) throw new Error(JSON.stringify(gone.body));
  await until('the certificates', 900_000, 1_000, async () => {
    const open = await deployment.db
      .row(sql`SELECT 1 FROM removals WHERE ended_at IS NULL LIMIT 1`)
      .catch(() => ({}));
    return open === undefined ? true : undefined;
  });
}
