import { Temporal } from 'temporal-polyfill';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import type { Engine } from '../../../engine/exports/engine.ts';
import { row_tables } from '../../../engine/model/removals/delete_rows.ts';
import { caughtUpForAnswer } from '../../../platform/clickhouse/topology/caught_up.ts';
import { isoInstant } from '../../../platform/clock.ts';
import { counted } from '../../../platform/counted.ts';
import { satisfying } from '../../../platform/http/caller/scopes.ts';
import { invalid, missing } from '../../../platform/http/errors.ts';
import { query } from '../../../platform/http/lists/query.ts';
import { absentSentence } from './absent.ts';
import { judge } from './judge.ts';
import { FindQuery, Found, records_max } from './schema.ts';
import type { FoundRecord } from './schema.ts';
import { findTools } from './tools.ts';
import { findEvent, listChanges, listEvents, listSearched, listVersions } from './store.ts';
import type { StoredRecord } from './store.ts';

/** Number of exports that are searched at a time. */
const looks_at_once_max = 4;

/** Route `find/` of a project: where a record was delivered, or why it was not. */
export function findRoutes(app: FastifyInstance, engine: Engine): void {
  const schema = {
    summary: 'Find where an event, person, session or group was delivered, or why it was not',
    description:
      'Either `uuid`, `session_id`, `group_id`, or `distinct_id` and `day`. For each export of ' +
      'the project: the run, the file, object or table with its rows, and the receipt; or why it ' +
      'is not there. For each tool: when an event was sent to it, with which outcome.',
    querystring: FindQuery,
    response: { 200: Found },
    tags: ['batch_exports'],
    operationId: 'projects_find_retrieve',
  };
  app.get(
    '/api/projects/:project_id/find/',
    { config: { scope: 'batch_export:read', within: 'project' }, schema },
    (request) =>
      caughtUpForAnswer(engine.clickhouse, row_tables, () => answerFound(engine, request)),
  );
}

type Asked = Static<typeof FindQuery>;

async function answerFound(engine: Engine, request: FastifyRequest) {
  const asked = query(request, FindQuery);
  const {
    team_id = 0,
    timezone = 'UTC',
    organization_id,
  } = request.access as {
    team_id?: number;
    timezone?: string;
    organization_id: string;
  };
  const found = await recordsOf(engine, team_id, timezone, asked);
  const { exports, count } = await listSearched(engine.db, team_id, asked.batch_export);
  if (asked.batch_export !== undefined && count === 0) missing();
  const isForTools = request.caller.scopes.some((one) => satisfying('plugin:read').has(one));
  const told = found.slice(0, records_max);
  const tools = await findTools(engine, team_id, isForTools ? told : []);
  const records: FoundRecord[] = [];
  for (const record of told) {
    const judged = await inTurns(exports, async (searched) => {
      const { has_receipt, ...told } = await judge(engine, organization_id, searched, record);
      return has_receipt ? { ...told, receipt: receiptUrl(request, told) } : told;
    });
    records.push({
      ...shown(record),
      exports: judged,
      tools: tools.get(record.uuid ?? '') ?? [],
    });
  }
  return {
    detail:
      found.length > 0
        ? `${counted(Math.min(found.length, records_max), 'record')} found.`
        : await absentSentence(engine, team_id, asked),
    timezone,
    records,
    has_more_records: found.length > records_max,
    exports_left_out: count - exports.length,
  };
}

async function recordsOf(
  { clickhouse }: Engine,
  team_id: number,
  timezone: string,
  { uuid, session_id, group_id, distinct_id, day }: Asked,
): Promise<StoredRecord[]> {
  if (uuid !== undefined) return findEvent(clickhouse, team_id, uuid.toLowerCase());
  if (session_id !== undefined) return listChanges(clickhouse, 'sessions', team_id, session_id);
  if (group_id !== undefined) return listChanges(clickhouse, 'groups', team_id, group_id);
  if (distinct_id === undefined)
    throw invalid(
      'uuid',
      'required',
      'Send `uuid`, `session_id`, `group_id`, or `distinct_id` and `day`.',
    );
  if (day === undefined) throw invalid('day', 'required', 'Send the day with `distinct_id`.');
  const range = { team_id, distinct_id, ...dayRange(day, timezone) };
  return [
    ...(await listEvents(clickhouse, range)),
    ...(await listVersions(clickhouse, 'persons', range)),
    ...(await listVersions(clickhouse, 'person_distinct_ids', range)),
  ];
}

function dayRange(day: string, timezone: string): { from: number; to: number } {
  let date: Temporal.PlainDate;
  try {
    date = Temporal.PlainDate.from(day);
  } catch {
    throw invalid('day', 'invalid_input', 'Must be a date, such as 2026-01-31.');
  }
  if (date.year < 1 || date.year > 9998)
    throw invalid('day', 'invalid_input', 'Must be in the years 1 to 9998.');
  const start = (one: Temporal.PlainDate) => one.toZonedDateTime(timezone).epochMilliseconds;
  return { from: start(date), to: start(date.add({ days: 1 })) };
}

async function inTurns<Item, Result>(
  items: Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (let first = 0; first < items.length; first += looks_at_once_max)
    results.push(...(await Promise.all(items.slice(first, first + looks_at_once_max).map(work))));
  return results;
}

function shown(record: StoredRecord): Omit<FoundRecord, 'exports' | 'tools'> {
  const { happened_us, inserted_us, ...names } = record;
  return {
    ...names,
    timestamp: happened_us === null ? null : wireInstant(happened_us),
    inserted_at: wireInstant(inserted_us),
  };
}

function wireInstant(microseconds: number): string {
  const whole = Math.floor(microseconds / 1000);
  const rest = String(microseconds - whole * 1000).padStart(3, '0');
  return `${isoInstant(whole).slice(0, -4)}${rest}Z`;
}

function receiptUrl(
  { server, access }: FastifyRequest,
  { batch_export, run }: { batch_export: string; run: string | null },
): string {
  const project = (access as { team_id?: number }).team_id;
  return (
    `${server.context.config.public_url}/api/projects/${project}/batch_exports/` +
    `${batch_export}/runs/${run}/receipt/`
  );
}
