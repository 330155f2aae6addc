import { setTimeout as pause } from 'node:timers/promises';
import { isoInstant, systemClock } from '../../platform/clock.ts';
import { isFields } from '../../platform/fields.ts';
import type { Api } from '../client/api.ts';
import { askServer } from '../client/ask.ts';
import { UnreachableError, UserError } from '../user_error.ts';
import type { DayCount, Days, FoundProject } from './inventory.ts';

/** Most rows of one answer of PostHog's query API. */
const page_rows = 10_000;
/** The most by which the clock of a source may be behind. */
const clocks_differ_ms = 10_000;

type Results = { results: unknown[][] };

/** Counts the events of each name and day in PostHog, and their distinct uuids. */
export async function posthogCounts(
  api: Api,
  project: FoundProject,
  days: Days,
): Promise<DayCount[]> {
  const { results } = await ask(
    api,
    project,
    `SELECT toString(toDate(toTimeZone(timestamp, 'UTC'))) AS day, event, count() AS rows,
       count(DISTINCT uuid) AS ids
     FROM events WHERE ${within(days)} GROUP BY day, event ORDER BY day, event
     LIMIT 50000`,
  );
  return results.map(([day, event, rows, unique]) => ({
    day: String(day),
    event: String(event),
    rows: Number(rows),
    unique: Number(unique),
  }));
}

/** Returns the counts of a Sluice, which stores each uuid once. */
export async function sluiceCounts(api: Api, project: string, days: Days): Promise<DayCount[]> {
  const { results } = await api.get<{
    results: { start_at: string; event: string; events: number }[];
  }>(`/api/projects/${encodeURIComponent(project)}/events/counts/`, {
    query: {
      by: 'timestamp',
      by_event: 'true',
      interval: 'day',
      after: `${days.from}T00:00:00Z`,
      before: `${days.to}T00:00:00Z`,
    },
  });
  return results.map(({ start_at, event, events }) => ({
    day: start_at.slice(0, 10),
    event,
    rows: events,
    unique: events,
  }));
}

/** Returns true for a Sluice: PostHog does not have this route. */
export async function isSluice(api: Api): Promise<boolean> {
  try {
    const answer = await api.get('/api/destinations/');
    return isFields(answer) && Array.isArray(answer['results']);
  } catch (error) {
    // Reading the organizations tells a refused key better.
    if (error instanceof UserError && !(error instanceof UnreachableError)) return false;
    throw error;
  }
}

/** Reads the events of a range by PostHog's query API, in pages by time and uuid. */
export async function* posthogEvents(
  api: Api,
  project: FoundProject,
  days: Days,
): AsyncGenerator<string> {
  let after = '';
  for (;;) {
    const { results } = await ask(
      api,
      project,
      `SELECT toString(uuid) AS id, event, distinct_id, properties,
        toString(toTimeZone(timestamp, 'UTC')) AS at
       FROM events WHERE ${within(days)}${after} ORDER BY timestamp, uuid LIMIT ${page_rows}`,
    );
    for (const [uuid, event, distinct_id, properties, timestamp] of results)
      yield `${JSON.stringify({ uuid, event, distinct_id, timestamp, properties })}\n`;
    const last = results.at(-1);
    if (last === undefined || results.length < page_rows) return;
    after = ` AND (timestamp, uuid) > (toDateTime64(${text(last[4])}, 6, 'UTC'),
        toUUID(${text(last[0])}))`;
  }
}

function ask(api: Api, { id }: FoundProject, query: string): Promise<Results> {
  return api.post(`/api/projects/${id}/query/`, { query: { kind: 'HogQLQuery', query } });
}

const within = ({ from, to }: Days) =>
  `timestamp >= toDateTime('${from} 00:00:00', 'UTC') ` +
  `AND timestamp < toDateTime('${to} 00:00:00', 'UTC')`;
const text = (value: unknown) => `'${String(value).replaceAll("'", "''")}'`;

type Download = { id: string; status: string; detail: string; parts: { number: number }[] };

/** Reads the events of a range as lines of JSON, by a download of another Sluice. */
export async function* sluiceEvents(
  api: Api,
  { id }: FoundProject,
  { from, to }: Days,
): AsyncGenerator<Buffer> {
  const base = `/api/projects/${id}/file_downloads/`;
  // A range that is not over has the events until now; the source refuses one that ends later.
  const end_ms = Math.min(Date.parse(to), systemClock.now() - clocks_differ_ms);
  if (end_ms <= Date.parse(from)) return;
  let download = await api.post<Download>(base, {
    start_at: `${from}T00:00:00Z`,
    end_at: isoInstant(end_ms),
    by: 'timestamp',
    file_format: 'JSONLines',
    max_file_size_mb: 32,
  });
  const own = `${base}${download.id}/`;
  try {
    while (download.status === 'Starting') {
      await pause(500);
      download = await api.get<Download>(own);
    }
    if (download.status !== 'Completed') throw new UserError(download.detail);
    for (const { number } of download.parts) {
      const { status, text: lines } = await askServer(api.target, {
        path: `${own}download/${number}/`,
      });
      if (status !== 200) throw new UserError(`The source answered ${status}: ${lines}`);
      yield Buffer.from(lines.endsWith('\n') ? lines : `${lines}\n`);
    }
  } finally {
    await askServer(api.target, { method: 'DELETE', path: own });
  }
}
