import assert from 'node:assert/strict';
import { parseExact } from '../../server/engine/ingest/parse/exact_json.ts';
import { readGroupFault } from '../../server/engine/ingest/parse/group_fault.ts';
import { groups as model } from '../../server/engine/model/models/groups.ts';
import { toStored } from '../../server/engine/model/ledger/rectangles.ts';
import { every_event } from '../../server/engine/model/models/event_filter.ts';
import { conditionOf } from '../../server/engine/privacy/retention/rows.ts';
import type { Random } from '../chaos/random.ts';
import { compareRows, openDeliveries } from '../made_of_events/deliveries.ts';
import type { Place, TextRow } from '../made_of_events/deliveries.ts';
import { insert, noteRemovals, remove } from '../made_of_events/stores.ts';
import { projectHistory } from './histories.ts';
import type { Call } from './histories.ts';
import { neededCalls, plainGroup } from './plain_group.ts';

/** Counts of a campaign. */
export type Checked = {
  groups: number;
  calls: number;
  deliveries: number;
  versions: number;
  erased: number;
  retained: number;
  /** Groups that would be wrong if the last call to arrive always won. */
  wrong_by_arrival: number;
};

/** Microseconds between the erasure of calls and the instant at which their groups change. */
const removal_us = 1_000;

/**
 * Plays the history of a project into both stores and compares the table of the destination with a
 * recomputation. After each delivery, every changed group equals the sum of its calls; at the end,
 * every group does. Retention removes calls by the product's condition, and changes no group.
 */
export async function checkProject(
  place: Place,
  team_id: number,
  random: Random,
  groups: number,
): Promise<Checked> {
  const deliveries = await openDeliveries(model, place, team_id, random, { team_id: 1 });
  const { clickhouse } = place;
  const checked: Checked = {
    groups: 0,
    calls: 0,
    deliveries: 0,
    versions: 0,
    erased: 0,
    retained: 0,
    wrong_by_arrival: 0,
  };
  const project = new PlainProject();
  const deliver = async (to: number) => {
    const rows = await deliveries.select(to);
    compareRows('group_id', rows.map(inPairs), project.changed());
    checked.deliveries += 1;
    checked.versions += rows.length;
    await deliveries.merge(rows);
  };
  for (const moment of projectHistory(random, groups, random.between(4, 12))) {
    if (moment.kind === 'calls') {
      await insert(clickhouse, team_id, moment.calls);
      for (const call of moment.calls) requireToldFault(call);
      project.take(moment.calls);
      checked.calls += moment.calls.length;
    } else if (moment.kind === 'retention') {
      await deliver(project.now + 1_000);
      await retain(place, team_id, moment.before);
      checked.retained += project.retain(moment.before);
      compareRows('group_id', await wholeRows(place, team_id), project.all());
    } else {
      const { calls, ids, at } = project.erase(moment.distinct_id);
      if (calls.length === 0) continue;
      await remove(clickhouse, team_id, calls);
      await noteRemovals(clickhouse, team_id, 'group', ids, at);
      checked.erased += calls.length;
    }
    if (random.next() < 0.7) await deliver(project.now + 1_000);
  }
  await deliver(project.now + 1_000);
  const expected = project.all();
  compareRows('group_id', (await deliveries.end()).map(inPairs), expected);
  checked.groups = expected.size;
  checked.wrong_by_arrival = project.wrongByArrival();
  return checked;
}

/** Requires a warning for a call that sets or changes nothing. */
function requireToldFault({ event, properties, group, set }: Call): void {
  const read = parseExact(JSON.stringify(properties)) as Record<string, unknown>;
  const fault = readGroupFault(event, read);
  if (group === undefined) assert.equal(fault?.reason, 'group_ignored', fault?.sent);
  else if (fault !== undefined) {
    assert.equal(fault.reason, 'group_set_ignored', fault.sent);
    assert.deepEqual(set, {});
  }
}

/** Returns a row with its properties as pairs of names and JSON texts, by name. */
function inPairs(row: TextRow): TextRow {
  const properties = parseExact(row['properties']!) as Record<string, unknown>;
  const pairs = Object.entries(properties).map(([name, value]) => [name, JSON.stringify(value)]);
  return { ...row, properties: JSON.stringify(pairs.sort()) };
}

/** Applies retention to all calls that were ingested before an instant. */
async function retain({ clickhouse }: Place, team_id: number, before: number): Promise<void> {
  const side = { event_from: -Infinity, event_to: Infinity, inserted_from: -Infinity };
  const area = toStored([{ ...side, inserted_to: before / 1_000 }]);
  const events = [{ filter: every_event, area }];
  const areas = { before: before / 1_000, events, persons: [] };
  const { text, parameters } = conditionOf('events', team_id, areas);
  await clickhouse.command({
    query: `ALTER TABLE events DELETE WHERE ${text}`,
    query_params: parameters,
    clickhouse_settings: {
      mutations_sync: '2',
      max_query_size: '16000000',
      allow_nondeterministic_mutations: 1,
    },
  });
}

/** Returns every group of the project in its current state. */
async function wholeRows({ clickhouse }: Place, team_id: number): Promise<TextRow[]> {
  const everything = {
    event_from: -Infinity,
    event_to: Infinity,
    inserted_from: -Infinity,
    inserted_to: Infinity,
  };
  const { text, parameters } = model.relation(team_id, [everything], every_event);
  const micro = (name: string) => `toString(toUnixTimestamp64Micro(${name}))`;
  const rows = await clickhouse.rows<TextRow>({
    query: `SELECT group_id, group_type, group_key, properties AS json, ${micro('created_at')}
        AS created, toString(group_version) AS version, if(is_deleted, 'true', 'false') AS deleted,
        ${micro('inserted_at')} AS inserted FROM ${text}`,
    query_params: parameters,
  });
  return rows.map(({ json, created, version, deleted, inserted, ...row }) =>
    inPairs({
      ...row,
      properties: json!,
      created_at: created!,
      group_version: version!,
      is_deleted: deleted!,
      inserted_at: inserted!,
    }),
  );
}

/** The calls of a project in memory, and the last delivered state of each group. */
class PlainProject {
  now = 0;
  readonly #calls = new Map<string, Call[]>();
  readonly #removals = new Map<string, number[]>();
  readonly #changed = new Set<string>();
  readonly #rows = new Map<string, TextRow>();

  take(calls: Call[]): void {
    for (const call of calls) {
      this.now = Math.max(this.now, call.taken);
      if (call.group === undefined) continue;
      const id = `${call.group.type}:${call.group.key}`;
      this.#calls.set(id, [...(this.#calls.get(id) ?? []), call]);
      this.#changed.add(id);
    }
  }

  erase(distinct_id: string): { calls: Call[]; ids: string[]; at: number } {
    const gone: Call[] = [];
    const ids: string[] = [];
    for (const [id, calls] of this.#calls) {
      const [left, erased] = [false, true].map((isErased) =>
        calls.filter((call) => (call.distinct_id === distinct_id) === isErased),
      );
      if (erased!.length === 0) continue;
      gone.push(...erased!);
      ids.push(id);
      this.#calls.set(id, left!);
    }
    if (ids.length > 0) this.now += removal_us;
    for (const id of ids) {
      this.#removals.set(id, [...(this.#removals.get(id) ?? []), this.now]);
      this.#changed.add(id);
    }
    return { calls: gone, ids, at: this.now };
  }

  /** Removes the calls that no group needs and that were ingested before an instant. */
  retain(before: number): number {
    let removed = 0;
    for (const [id, calls] of this.#calls) {
      const needed = neededCalls(calls.filter(({ taken }) => taken < before));
      const left = calls.filter(({ taken, uuid }) => taken >= before || needed.has(uuid));
      removed += calls.length - left.length;
      this.#calls.set(id, left);
    }
    return removed;
  }

  /** Returns the groups that changed since the last call, each computed from all its calls. */
  changed(): Map<string, TextRow> {
    const rows = new Map<string, TextRow>();
    for (const id of this.#changed)
      rows.set(id, plainGroup(id, this.#calls.get(id) ?? [], this.#removals.get(id) ?? []));
    this.#changed.clear();
    for (const [id, row] of rows) this.#rows.set(id, row);
    return rows;
  }

  /** Returns every group in the state of its last computation. */
  all(): ReadonlyMap<string, TextRow> {
    return this.#rows;
  }

  /** Counts the groups whose properties differ if they are merged in the order of arrival. */
  wrongByArrival(): number {
    return Array.from(this.#calls).filter(([id, calls]) => {
      const arrived = calls.map((call, index) => ({ ...call, at: call.taken + index }));
      const { properties } = plainGroup(id, arrived, [0]);
      return properties !== plainGroup(id, calls, [0])['properties'];
    }).length;
  }
}
