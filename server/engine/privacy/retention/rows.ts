import type { ClickHouse } from '../../../platform/clickhouse/client.ts';
import { isoInstant } from '../../../platform/clock.ts';
import type { Rectangle, StoredRectangle } from '../../model/ledger/rectangles.ts';
import { fromStored, toStored } from '../../model/ledger/rectangles.ts';
import type { EventFilter } from '../../model/models/event_filter.ts';
import { selectionCondition } from '../../model/models/selection.ts';
import type { Decision } from './decide.ts';
import type { RetainedTable } from './retained_tables.ts';

/** The areas of a removal, in their stored form. */
export type StoredAreas = {
  before: number;
  events: { filter: EventFilter; area: StoredRectangle[] }[];
  persons: StoredRectangle[];
};

/**
 * Rows in ClickHouse's terms: their condition, the expression of their `inserted_at`, and the
 * parameters of both.
 */
export type Condition = { text: string; from: string; parameters: Record<string, string[]> };

/** A part of the persons, so that one batch of removals fits into memory. */
type Part = { number: number; of: number };

/** The number of rows, and the first and last insertion (ISO 8601). */
export type RowCount = { rows: number; oldest: string | null; newest: string | null };

const all_time = { event_from: -Infinity, event_to: Infinity };

/** Returns a decision in its stored form. */
export function storedAreas({ before, events, persons }: Decision): StoredAreas {
  return {
    before,
    events: events.map(({ filter, area }) => ({ filter, area: toStored(area) })),
    persons: toStored(
      persons.map(({ from, to }) => ({ ...all_time, inserted_from: from, inserted_to: to })),
    ),
  };
}

const none: Condition = { text: '0', from: '', parameters: {} };

/**
 * Returns the condition for the rows of a table that a removal of the project removes. For persons,
 * it removes versions that another one replaced before `before`: the current state of persons
 * stays, and so does the owner of each distinct id. Events that define groups as of `before` stay
 * too. Parameters are named after the project.
 */
export function conditionOf(
  table: RetainedTable,
  team_id: number,
  areas: StoredAreas,
  part: Part = { number: 0, of: 1 },
): Condition {
  if (table === 'persons')
    return areas.persons.length === 0 ? none : superseded(team_id, areas, part);
  const { text: wanted, parameters } = conditionOfEvents(team_id, areas, own_columns);
  if (wanted === '') return none;
  const free = neededByNoGroup(team_id, areas);
  const text = `(team_id = ${team_id} AND ${wanted} AND ${free})`;
  return { text, from: `SELECT inserted_at FROM events WHERE ${text}`, parameters };
}

/** The columns with the times of an event. */
type TimeColumns = { event: string; inserted: string };
const own_columns = { event: 'timestamp', inserted: 'inserted_at' };
const traced_columns = { event: 'event_timestamp', inserted: 'event_inserted_at' };

function conditionOfEvents(
  team_id: number,
  areas: StoredAreas,
  { event, inserted }: TimeColumns,
): Pick<Condition, 'text' | 'parameters'> {
  const parameters: Condition['parameters'] = {};
  const parts = areas.events.map(({ filter, area }, index) => {
    const named = (['include', 'exclude'] as const).flatMap((way) => {
      const names = filter[`${way}_events`];
      if (names.length === 0) return [];
      parameters[`${way}_${team_id}_${index}`] = names;
      const operator = way === 'include' ? 'IN' : 'NOT IN';
      return [`event ${operator} {${way}_${team_id}_${index}:Array(String)}`];
    });
    return [inAreas(fromStored(area), event, inserted), ...named].join(' AND ');
  });
  return { text: parts.length === 0 ? '' : `(${either(parts)})`, parameters };
}

/**
 * Returns the condition for events that no group needs as of `before`. A group needs its first
 * event, the latest that set each of its properties, and the one that arrived last.
 */
function neededByNoGroup(team_id: number, { before }: StoredAreas): string {
  const settled = inAreas([{ ...all_time, inserted_from: -Infinity, inserted_to: before }]);
  const calls = `SELECT group_id, inserted_at, group_at, group_number, group_set
    FROM events WHERE team_id = ${team_id} AND group_id != '' AND ${settled}`;
  return `(group_id = '' OR toUInt128(uuid) NOT IN (
    SELECT argMax(group_number, (group_at, group_number))
      FROM (SELECT *, arrayJoin(group_set) AS property FROM (${calls}))
      GROUP BY group_id, tupleElement(property, 1)
    UNION ALL SELECT arrayJoin([argMin(group_number, (group_at, group_number)),
        argMax(group_number, (inserted_at, group_number))])
      FROM (${calls}) GROUP BY group_id))`;
}

function superseded(
  team_id: number,
  { before, persons }: StoredAreas,
  { number, of }: Part,
): Condition {
  const settled = inAreas([{ ...all_time, inserted_from: -Infinity, inserted_to: before }]);
  const wanted = inAreas(fromStored(persons), undefined, 'one.2');
  // As of `before`, each person and the latest owner of each distinct id stay. The table's order
  // lets the store walk from one distinct id to the next.
  const gone = `(
    SELECT distinct_id, arrayJoin(arrayFilter(
      one -> one.1 != latest AND one.1 != linked AND ${wanted}, versions)) AS version
    FROM (SELECT distinct_id, groupArray((person_version, inserted_at)) AS versions,
        max(person_version) AS latest,
        maxIf(person_version, person_version = 1 OR merged_into != '') AS linked
      FROM persons WHERE team_id = ${team_id} AND ${settled}
        AND cityHash64(distinct_id) % ${of} = ${number}
      GROUP BY distinct_id HAVING count() > 1)
    SETTINGS optimize_aggregation_in_order = 1)`;
  return {
    text:
      `(team_id = ${team_id} AND ${inAreas(fromStored(persons))} ` +
      `AND (distinct_id, person_version) IN (SELECT distinct_id, version.1 FROM ${gone}))`,
    from: `SELECT version.2 AS inserted_at FROM ${gone}`,
    parameters: {},
  };
}

/**
 * Returns the condition for the trace rows of a removal's events, by the times and names of these
 * events.
 */
export function traceConditionOf(team_id: number, areas: StoredAreas): Condition {
  const { text, parameters } = conditionOfEvents(team_id, areas, traced_columns);
  return text === '' ? none : { text: `(team_id = ${team_id} AND ${text})`, from: '', parameters };
}

function inAreas(areas: Rectangle[], event?: string, inserted = 'inserted_at'): string {
  return `(${selectionCondition(areas, { event, inserted })})`;
}

function either(parts: string[]): string {
  return parts.map((part) => `(${part})`).join(' OR ');
}

/** Combines conditions: a row matches if one of them does. */
export function anyOf(conditions: Condition[]): Condition {
  const real = conditions.filter(({ text }) => text !== '0');
  if (real.length === 0) return none;
  return {
    text: either(real.map(({ text }) => text)),
    from: real.map(({ from }) => from).join(' UNION ALL '),
    parameters: Object.assign({}, ...real.map(({ parameters }) => parameters)),
  };
}

/** Counts rows in the table, not in a projection. */
export async function countRows(
  clickhouse: ClickHouse,
  { text, from, parameters }: Condition,
  abort_signal: AbortSignal,
): Promise<RowCount> {
  if (text === '0') return { rows: 0, oldest: null, newest: null };
  const [row] = await clickhouse.rows<Record<'rows' | 'oldest' | 'newest', number | string>>({
    query: `SELECT count() AS rows, toUnixTimestamp64Milli(min(inserted_at)) AS oldest,
      toUnixTimestamp64Milli(max(inserted_at)) AS newest FROM (${from})`,
    query_params: parameters,
    clickhouse_settings: { optimize_use_projections: 0, max_query_size: '16000000' },
    abort_signal,
  });
  const rows = Number(row?.rows ?? 0);
  const instant = (at: number | string | undefined) => (rows === 0 ? null : isoInstant(Number(at)));
  return { rows, oldest: instant(row?.oldest), newest: instant(row?.newest) };
}

/** Counts the rows of a project that a removal removes. */
export async function countBoth(
  clickhouse: ClickHouse,
  team_id: number,
  areas: StoredAreas,
  signal: AbortSignal,
): Promise<Record<RetainedTable, RowCount>> {
  const [events, persons] = await Promise.all([
    countRows(clickhouse, conditionOf('events', team_id, areas), signal),
    countRows(clickhouse, conditionOf('persons', team_id, areas), signal),
  ]);
  return { events, persons };
}
