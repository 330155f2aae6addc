import assert from 'node:assert/strict';
import type pg from 'pg';
import { mergeStatement, tableStatement } from '../../server/engine/destinations/postgres/table.ts';
import { every_event } from '../../server/engine/model/models/event_filter.ts';
import { sessions as model } from '../../server/engine/model/models/sessions.ts';
import type { ClickHouse } from '../../server/platform/clickhouse/client.ts';
import type { Random } from '../chaos/random.ts';
import { projectHistory } from './histories.ts';
import type { SessionEvent } from './histories.ts';
import { insert, instantOf, noteRemovals, remove } from './stores.ts';
import { plainSession } from './plain_session.ts';
import type { SessionRow } from './plain_session.ts';

type Place = { clickhouse: ClickHouse; postgres: pg.Client };

/** Counts of a campaign. */
export type Checked = {
  sessions: number;
  events: number;
  deliveries: number;
  versions: number;
  erased: number;
  /** Rows in which a table that goes by the end of a session would be wrong. */
  wrong_by_end: number;
};

const columns = model.columns.tables;
const layout = { model: 'sessions', columns } as const;
/** Microseconds between the erasure of events and the instant at which their sessions change. */
const removal_us = 1_000;

/**
 * Plays the history of a project into both stores and compares the table of the destination with a
 * recomputation: after each delivery every session that changed is as all its events say, and at
 * the end so is every session that lost nothing to retention since. Deliveries come late and twice.
 */
export async function checkProject(
  { clickhouse, postgres }: Place,
  team_id: number,
  random: Random,
  sessions: number,
): Promise<Checked> {
  const table = `sessions_${team_id}`;
  await postgres.query(tableStatement(table, layout));
  const checked: Checked = {
    sessions: 0,
    events: 0,
    deliveries: 0,
    versions: 0,
    erased: 0,
    wrong_by_end: 0,
  };
  const project = new PlainProject();
  const byEnd = new Map<string, SessionRow>();
  const waiting: SessionRow[][] = [];
  let from = 0;
  const deliver = async (to: number) => {
    const rows = await selected(clickhouse, team_id, from, to);
    compare(rows, project.changed());
    for (const row of rows) keepByEnd(byEnd, row);
    checked.deliveries += 1;
    checked.versions += rows.length;
    from = to;
    waiting.push(rows);
    // Out of turn, and sometimes once more, as after a lost answer.
    if (random.next() < 0.4) return;
    for (const one of waiting.splice(0).toSorted(() => random.next() - 0.5))
      for (let times = random.between(1, 2); times > 0; times -= 1)
        await merge(postgres, table, one);
  };
  for (const moment of projectHistory(random, sessions, random.between(4, 12))) {
    if (moment.kind === 'events') {
      await insert(clickhouse, team_id, moment.events);
      project.take(moment.events);
      checked.events += moment.events.length;
    } else if (moment.kind === 'retention')
      await remove(clickhouse, team_id, project.retain(moment.before));
    else {
      const { events, ids, at } = project.erase(moment.distinct_id);
      if (events.length === 0) continue;
      await remove(clickhouse, team_id, events);
      await noteRemovals(clickhouse, team_id, ids, at);
      checked.erased += events.length;
    }
    if (random.next() < 0.7) await deliver(project.now + 1_000);
  }
  await deliver(project.now + 1_000);
  for (const rows of waiting) await merge(postgres, table, rows);
  const expected = project.all();
  compare(await tableRows(postgres, table), expected);
  checked.sessions = expected.size;
  for (const [id, row] of expected) checked.wrong_by_end += isSame(byEnd.get(id), row) ? 0 : 1;
  await postgres.query(`DROP TABLE ${table}`);
  return checked;
}

/** The events of a project in memory, and what was last delivered of each session. */
class PlainProject {
  now = 0;
  readonly #events = new Map<string, SessionEvent[]>();
  readonly #removals = new Map<string, number[]>();
  readonly #changed = new Set<string>();
  readonly #rows = new Map<string, SessionRow>();

  take(events: SessionEvent[]): void {
    for (const event of events) {
      const id = String(event.properties['$session_id']);
      this.#events.set(id, [...(this.#events.get(id) ?? []), event]);
      this.#changed.add(id);
      this.now = Math.max(this.now, event.taken);
    }
  }

  erase(distinct_id: string): { events: SessionEvent[]; ids: string[]; at: number } {
    const gone = this.#without((event) => event.distinct_id === distinct_id);
    const ids = [...new Set(gone.map(({ properties }) => String(properties['$session_id'])))];
    if (ids.length > 0) this.now += removal_us;
    for (const id of ids) {
      this.#removals.set(id, [...(this.#removals.get(id) ?? []), this.now]);
      this.#changed.add(id);
    }
    return { events: gone, ids, at: this.now };
  }

  retain(before: number): SessionEvent[] {
    return this.#without(({ taken }) => taken < before && this.now - taken > 3_600_000_000);
  }

  #without(isGone: (event: SessionEvent) => boolean): SessionEvent[] {
    const gone: SessionEvent[] = [];
    for (const [id, events] of this.#events) {
      gone.push(...events.filter(isGone));
      this.#events.set(
        id,
        events.filter((event) => !isGone(event)),
      );
    }
    return gone;
  }

  /** The sessions that changed since this was asked last, each made of all its events. */
  changed(): Map<string, SessionRow> {
    const rows = new Map<string, SessionRow>();
    for (const id of this.#changed) {
      const [events, removals] = [this.#events.get(id) ?? [], this.#removals.get(id) ?? []];
      // All that changed may have gone by retention before it was delivered.
      if (events.length + removals.length === 0) continue;
      rows.set(id, plainSession(id, events, removals));
    }
    this.#changed.clear();
    for (const [id, row] of rows) this.#rows.set(id, row);
    return rows;
  }

  /** Every session as it was when it was last made. */
  all(): ReadonlyMap<string, SessionRow> {
    return this.#rows;
  }
}

function compare(found: SessionRow[], expected: ReadonlyMap<string, SessionRow>): void {
  const byId = new Map(found.map((row) => [row['session_id']!, row]));
  assert.equal(byId.size, found.length, 'a session has one row');
  assert.equal(found.length, expected.size);
  for (const [id, row] of expected) assert.deepEqual(byId.get(id), row, id);
}

function isSame(one: SessionRow | undefined, other: SessionRow): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** The merge of the field's other implementation: by the end of a session. */
function keepByEnd(rows: Map<string, SessionRow>, row: SessionRow): void {
  const id = row['session_id']!;
  const there = rows.get(id);
  if (there === undefined || Number(row['end_timestamp']) > Number(there['end_timestamp']))
    rows.set(id, row);
}

const shown = columns.filter(({ name }) => name !== 'team_id' && name !== 'rules');

/** The rows that an export delivers for a range of insertions (microseconds). */
async function selected(
  clickhouse: ClickHouse,
  team_id: number,
  from: number,
  to: number,
): Promise<SessionRow[]> {
  const side = { event_from: -Infinity, event_to: Infinity };
  const selection = [{ ...side, inserted_from: from / 1_000, inserted_to: to / 1_000 }];
  const { text, parameters } = model.relation(team_id, selection, every_event);
  const found = await clickhouse.rows<SessionRow>({
    query: `SELECT ${shown.map(({ name, type }) => `${asText(name, type)} AS ${name}_`).join(', ')}
      FROM ${text}`,
    query_params: parameters,
  });
  const counted = model.versions(team_id, selection, every_event);
  const [count] = await clickhouse.rows<{ records: string | number }>({
    query: `SELECT ${counted.records} AS records FROM ${counted.text}`,
    query_params: counted.parameters,
  });
  assert.equal(Number(count?.records), found.length, 'as many rows as are counted');
  return found.map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name.slice(0, -1), value])),
  );
}

function asText(name: string, type: string): string {
  if (type === 'timestamp') return `toString(toUnixTimestamp64Micro(${name}))`;
  return type === 'boolean'
    ? `if(${name} IS NULL, NULL, if(${name}, 'true', 'false'))`
    : `toString(${name})`;
}

async function merge(postgres: pg.Client, table: string, rows: SessionRow[]): Promise<void> {
  await postgres.query(`CREATE TEMP TABLE stage (LIKE ${table})`);
  const given = rows.map((row) => ({
    ...row,
    team_id: 1,
    rules: 1,
    ...Object.fromEntries(
      columns
        .filter(({ name, type }) => type === 'timestamp' && typeof row[name] === 'string')
        .map(({ name }) => [name, instantOf(row[name]!)]),
    ),
  }));
  await postgres.query(`INSERT INTO stage SELECT * FROM json_populate_recordset(NULL::stage, $1)`, [
    JSON.stringify(given),
  ]);
  await postgres.query(mergeStatement(table, 'stage', layout));
  await postgres.query('DROP TABLE stage');
}

async function tableRows(postgres: pg.Client, table: string): Promise<SessionRow[]> {
  const list = shown.map(({ name, type }) =>
    type === 'timestamp'
      ? `round(extract(epoch FROM ${name}) * 1000000)::bigint::text AS ${name}`
      : `${name}::text AS ${name}`,
  );
  const { rows } = await postgres.query<SessionRow>(`SELECT ${list.join(', ')} FROM ${table}`);
  return rows;
}
