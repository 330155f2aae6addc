import { sessions as model } from '../../server/engine/model/models/sessions.ts';
import type { Random } from '../chaos/random.ts';
import { compareRows, openDeliveries } from '../made_of_events/deliveries.ts';
import type { Place, TextRow } from '../made_of_events/deliveries.ts';
import { insert, noteRemovals, remove } from '../made_of_events/stores.ts';
import { projectHistory } from './histories.ts';
import type { SessionEvent } from './histories.ts';
import { plainSession } from './plain_session.ts';

/** Counts of a campaign. */
export type Checked = {
  sessions: number;
  events: number;
  deliveries: number;
  versions: number;
  erased: number;
  /** Rows that would be wrong in a table that uses the end of a session. */
  wrong_by_end: number;
};

/** Microseconds between the erasure of events and the instant at which their sessions change. */
const removal_us = 1_000;

/**
 * Plays the history of a project into both stores and compares the table of the destination with a
 * recomputation. After each delivery, every changed session matches its events. At the end, every
 * session matches that has lost nothing to retention since. Deliveries come late and twice.
 */
export async function checkProject(
  place: Place,
  team_id: number,
  random: Random,
  sessions: number,
): Promise<Checked> {
  const constants = { team_id: 1, rules: 1 };
  const deliveries = await openDeliveries(model, place, team_id, random, constants);
  const { clickhouse } = place;
  const checked: Checked = {
    sessions: 0,
    events: 0,
    deliveries: 0,
    versions: 0,
    erased: 0,
    wrong_by_end: 0,
  };
  const project = new PlainProject();
  const byEnd = new Map<string, TextRow>();
  const deliver = async (to: number) => {
    const rows = await deliveries.select(to);
    compareRows('session_id', rows, project.changed());
    for (const row of rows) keepByEnd(byEnd, row);
    checked.deliveries += 1;
    checked.versions += rows.length;
    await deliveries.merge(rows);
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
      await noteRemovals(clickhouse, team_id, 'session', ids, at);
      checked.erased += events.length;
    }
    if (random.next() < 0.7) await deliver(project.now + 1_000);
  }
  await deliver(project.now + 1_000);
  const expected = project.all();
  compareRows('session_id', await deliveries.end(), expected);
  checked.sessions = expected.size;
  for (const [id, row] of expected) checked.wrong_by_end += isSame(byEnd.get(id), row) ? 0 : 1;
  return checked;
}

/** The events of a project in memory, and the last delivered state of each session. */
class PlainProject {
  now = 0;
  readonly #events = new Map<string, SessionEvent[]>();
  readonly #removals = new Map<string, number[]>();
  readonly #changed = new Set<string>();
  readonly #rows = new Map<string, TextRow>();

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

  /** Returns the sessions that changed since the last call, each computed from all its events. */
  changed(): Map<string, TextRow> {
    const rows = new Map<string, TextRow>();
    for (const id of this.#changed) {
      const [events, removals] = [this.#events.get(id) ?? [], this.#removals.get(id) ?? []];
      // Retention may have removed all changed ones before their delivery.
      if (events.length + removals.length === 0) continue;
      rows.set(id, plainSession(id, events, removals));
    }
    this.#changed.clear();
    for (const [id, row] of rows) this.#rows.set(id, row);
    return rows;
  }

  /** Returns every session in the state of its last computation. */
  all(): ReadonlyMap<string, TextRow> {
    return this.#rows;
  }
}

function isSame(one: TextRow | undefined, other: TextRow): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** The merge of the usual implementation: by the end of a session. */
function keepByEnd(rows: Map<string, TextRow>, row: TextRow): void {
  const id = row['session_id']!;
  const there = rows.get(id);
  if (there === undefined || Number(row['end_timestamp']) > Number(there['end_timestamp']))
    rows.set(id, row);
}
