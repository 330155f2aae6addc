import assert from 'node:assert/strict';
import { models } from '../../server/engine/model/models/index.ts';
import { every_event } from '../../server/engine/model/models/event_filter.ts';
import type { ModelName } from '../../server/engine/model/models/model.ts';
import { personId } from '../../server/engine/ingest/persons/person.ts';
import type { ClickHouse } from '../../server/platform/clickhouse/client.ts';
import { openRandom } from '../chaos/random.ts';
import { People } from './people.ts';
import { play } from './play.ts';
import { batchesOf, eventsOf } from './sequences.ts';
import type { SentEvent } from './sequences.ts';
import { Warehouse, warehouse_models } from './warehouse.ts';
import type { DeliveredRow } from './warehouse.ts';

/** The stores of the played sequences. */
export type Place = { database_url: string; clickhouse_url: string; clickhouse: ClickHouse };

/** Number of instants within a project at which deliveries are compared. */
const watermarks = 3;

/** The amount that was played and checked. */
export type Checked = { events: number; batches: number; kills: number; watermarks: number };

/**
 * Plays the sequences of one project into the store, with kills, and compares it with the model.
 * Every event is there once, with its person of that time. At several watermarks, the deliveries of
 * the three models match too, joined in a warehouse. Throws with the differences.
 */
export async function checkProject(
  place: Place,
  { team_id, ...wanted }: { team_id: number; seed: number; project: number; sequences: number },
  kills: number,
): Promise<Checked> {
  const { seed, project, sequences } = wanted;
  const events = eventsOf(seed, project, sequences);
  const batches = batchesOf(seed, project, events).length;
  const killed = await play({ ...place, ...wanted, team_id, batches }, kills);
  const stored = await insertionsOf(place.clickhouse, team_id);
  const random = openRandom(seed, 3_000_000 + project);
  const instants = [...new Set(stored.map(({ at }) => at))];
  const ends = Array.from({ length: watermarks }, () => random.one(instants)).toSorted(
    (one, other) => one - other,
  );
  const warehouse = new Warehouse();
  const model = new Model(team_id, events);
  let from = 0;
  // A watermark is before a batch; the last one is after all batches.
  for (const end of [...new Set(ends), instants.at(-1)! + 1]) {
    for (const name of warehouse_models)
      warehouse.load(name, await delivered(place.clickhouse, name, team_id, from, end));
    model.takeUntil(stored.filter(({ at }) => at < end).length);
    compare(model, warehouse);
    from = end;
  }
  warehouse.close();
  assert.equal(stored.length, model.people_of_events.size, 'events are stored once each');
  return {
    events: stored.length,
    batches: instants.length,
    kills: killed,
    watermarks: new Set(ends).size + 1,
  };
}

/** The model of a project while its events arrive. */
export class Model {
  readonly people = new People();
  /** The id of the person that each event was stored with, by its uuid. */
  readonly people_of_events = new Map<string, string>();
  readonly distinct_ids = new Map<string, string>();
  readonly #team_id: number;
  readonly #events: SentEvent[];
  #next = 0;

  constructor(team_id: number, events: SentEvent[]) {
    this.#team_id = team_id;
    this.#events = events;
  }

  /** Takes events until they contain this many different ones. */
  takeUntil(count: number): void {
    for (; this.people_of_events.size < count; this.#next += 1) {
      const event = this.#events[this.#next];
      assert.ok(event !== undefined, 'the store has more events than were sent');
      const name = this.people.take(event);
      if (name === undefined) continue;
      this.people_of_events.set(event.uuid, this.idOf(name));
      this.distinct_ids.set(event.uuid, event.distinct_id);
    }
  }

  idOf(distinct_id: string): string {
    return personId(this.#team_id, distinct_id);
  }
}

/** Compares the deliveries with the model. */
export function compare(model: Model, warehouse: Warehouse): void {
  const events = warehouse.rows('events');
  assert.deepEqual(
    new Map(events.map((row) => [row['uuid'], row['person_id']])),
    model.people_of_events,
    'events keep the person that they were stored with',
  );
  const known = model.people.known();
  const persons = warehouse.rows('persons').filter((row) => row['is_deleted'] === 0);
  assert.deepEqual(
    Object.fromEntries(persons.map((row) => [row['distinct_id'], told(row['properties'])])),
    Object.fromEntries(
      Array.from(known, ([name, person]) => [name, Object.fromEntries(person.properties)]),
    ),
    'persons are those of the model, with their properties',
  );
  const belonging = Array.from(known.values(), (person) =>
    Array.from(person.ids, (id) => [id, model.idOf(person.name)]),
  ).flat();
  assert.deepEqual(
    Object.fromEntries(
      warehouse.rows('person_distinct_ids').map((row) => [row['distinct_id'], row['person_id']]),
    ),
    Object.fromEntries(belonging),
    'distinct ids belong to whom the model says',
  );
  const [first, ...others] = warehouse.joined();
  for (const [uuid, distinct_id] of model.distinct_ids) {
    const person = model.people.of(distinct_id);
    const joined = first!.get(uuid);
    assert.equal(joined?.person_id, model.idOf(person.name));
    assert.deepEqual(
      joined.properties === null ? undefined : told(joined.properties),
      person.is_known ? Object.fromEntries(person.properties) : undefined,
    );
  }
  for (const other of others) assert.deepEqual(sorted(other), sorted(first!));
}

function told(properties: unknown): unknown {
  return JSON.parse(String(properties));
}

function sorted(rows: Map<string, { person_id: string; properties: string | null }>): unknown {
  return Array.from(rows, ([uuid, { person_id, properties }]) => [
    uuid,
    person_id,
    properties,
  ]).toSorted(([one], [other]) => (one! < other! ? -1 : 1));
}

async function insertionsOf(clickhouse: ClickHouse, team_id: number): Promise<{ at: number }[]> {
  const found = await clickhouse.rows<{ at: number | string }>({
    query: `SELECT toUnixTimestamp64Milli(inserted_at) AS at FROM events
      WHERE team_id = {team_id:Int64} ORDER BY inserted_at`,
    query_params: { team_id },
  });
  return found.map(({ at }) => ({ at: Number(at) }));
}

/** Returns the rows that an export delivers for a range of insertion times. */
async function delivered(
  clickhouse: ClickHouse,
  name: ModelName,
  team_id: number,
  from: number,
  to: number,
): Promise<DeliveredRow[]> {
  const { relation, columns, order } = models[name];
  const sides = { event_from: -Infinity, event_to: Infinity, inserted_from: from, inserted_to: to };
  const { text, parameters } = relation(team_id, [sides], every_event);
  const found = await clickhouse.rows<DeliveredRow>({
    query: `SELECT ${columns.files.map((one) => `${one.expression} AS ${one.name}_`).join(', ')}
      FROM ${text} ORDER BY ${order}`,
    query_params: parameters,
  });
  return found.map((row) =>
    Object.fromEntries(Object.entries(row).map(([key, value]) => [key.slice(0, -1), value])),
  );
}
