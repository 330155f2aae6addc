import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { verifyExports } from '../../server/engine/exports/verification/verify_exports.ts';
import type { ValueRow } from '../../server/engine/model/destination/content_source.ts';
import type { FileFormat } from '../../server/engine/model/destination/encoding.ts';
import { ownColumn } from '../../server/engine/model/models/column.ts';
import { addColumns } from '../../server/engine/model/schema/store.ts';
import type { PropertyType } from '../../server/engine/model/schema/property_type.ts';
import { openRandom } from '../chaos/random.ts';
import { openQueryHarness } from '../factories/batch_exports/query_exports.ts';
import type { QueryHarness } from '../factories/batch_exports/query_exports.ts';
import { insertRows } from '../factories/events/insert_rows.ts';
import type { TestOrganization } from '../harness.ts';
import { anyProperties, typed_properties } from './conflicts.ts';
import { isSame, propertiesOf, sameJson } from './model.ts';
import { filePlace, openers } from './places.ts';
import type { TypedPlace } from './places.ts';

/** Properties of events or groups as sent, and the expected columns. */
export type Sent = {
  model: 'events' | 'groups';
  properties: { property: string; type: PropertyType }[];
  documents: string[];
  /** The properties of each document that no column takes; undefined if they are unknown. */
  unfit?: string[][];
};

type TypedProperty = { property: string; type: PropertyType; column: string };

/** Creates events or groups with at least this many values that do not fit their column. */
export function makeConflicts(
  seed: number,
  conflicts: number,
  model: Sent['model'] = 'events',
): Sent {
  const random = openRandom(seed, 0);
  const documents: string[] = [];
  const unfit: string[][] = [];
  for (let count = 0; count < conflicts; count += unfit.at(-1)!.length) {
    const one = anyProperties(random);
    documents.push(one.text);
    unfit.push(one.unfit);
  }
  return { model, properties: typed_properties, documents, unfit };
}

/**
 * Sends events to each place, or to files of one format. Compares columns and rest with the sent
 * events, value for value. Half of the columns are added to the schema after the first run. Returns
 * the number of compared values.
 */
export async function playTyped(
  sent: Sent,
  { where, only, say }: { where: string; only?: FileFormat; say(line: string): void },
): Promise<number> {
  const exporting = await openQueryHarness();
  const places: TypedPlace[] = [];
  let compared = 0;
  try {
    for (const open of only === undefined ? openers : [filePlace(only)]) {
      const place = await open(exporting);
      if (place === undefined) continue;
      places.push(place);
      const home = await exporting.harness.newOrganization();
      const documents = await insertDocuments(exporting, home, sent);
      const { typed, unfit } = await exportTo(exporting, home, place, sent);
      const expected = unfitIn(sent) ?? unfit;
      assert.equal(unfit, expected, `${place.name}, ${where}: values that do not fit`);
      compared += compare(
        `${place.name}, ${where}`,
        await readRows(place, typed, sent),
        documents,
        typed,
      );
      say(
        `${place.name}, ${where}: ${documents.size} ${sent.model}, ${typed.length} columns, ` +
          `${unfit} values that do not fit, none changed`,
      );
    }
    return compared;
  } finally {
    for (const place of places) await place.close();
    await exporting.close();
  }
}

const half = ({ properties }: Sent): number => Math.ceil(properties.length / 2);

/** Delivers the first third of the events with half of the columns. */
function unfitIn({ unfit, ...sent }: Sent): number | undefined {
  const early = new Set(sent.properties.slice(0, half(sent)).map(({ property }) => property));
  return unfit
    ?.map((names, index) => (index % 3 > 0 ? names : names.filter((name) => early.has(name))))
    .reduce((sum, names) => sum + names.length, 0);
}

/** Exports to a place, verifies it, and returns the number of values that did not fit. */
async function exportTo(
  exporting: QueryHarness,
  home: TestOrganization,
  { name, destination }: TypedPlace,
  sent: Sent,
): Promise<{ typed: TypedProperty[]; unfit: number }> {
  const { model, properties } = sent;
  const early = await addSchema(exporting, home, model, properties.slice(0, half(sent)));
  const made = await exporting.scheduled(home, { destination, model, columns: 'typed' }, 1);
  await exporting.runAll(made.id);
  const late = await addSchema(exporting, home, model, properties.slice(half(sent)));
  await exporting.extend(made.id, 3);
  const runs = await exporting.runAll(made.id);
  assert.deepEqual([...new Set(runs.map(({ latest_error }) => latest_error))], [null]);
  const [finding] = await verifyExports(exporting.harness.deps.engine, made.id);
  assert.deepEqual([finding!.fault, finding!.differences], [null, []], name);
  const { results } = (await made.get('runs/?limit=10')).body;
  const unfit = results.reduce(
    (sum: number, run: { values_unfit: number | null }) => sum + (run.values_unfit ?? 0),
    0,
  );
  return { typed: [...early, ...late], unfit };
}

async function addSchema(
  { harness }: QueryHarness,
  home: TestOrganization,
  model: Sent['model'],
  properties: Sent['properties'],
): Promise<TypedProperty[]> {
  const source = model === 'events' ? 'event' : 'group';
  const wanted = properties.map((one) => ({ source, ...one }) as const);
  const { columns } = await harness.deps.db.transaction((tx) =>
    addColumns(tx, home.project.id, wanted, null),
  );
  return columns.map(({ property, type, column }) => ({ property, type, column: column! }));
}

async function insertDocuments(
  { harness }: QueryHarness,
  home: TestOrganization,
  { model, documents }: Sent,
): Promise<Map<string, string>> {
  const sent = new Map(documents.map((text) => [randomUUID() as string, text]));
  const values = [...sent].map(([uuid, properties], index) => {
    const at = `2026-01-01 0${index % 3}:10:00.${String(index % 1_000_000).padStart(6, '0')}`;
    return {
      team_id: home.project.id,
      uuid,
      event: model === 'groups' ? '$groupidentify' : 'e',
      distinct_id: 'd',
      person_id: uuid,
      properties:
        model === 'groups'
          ? `{"$group_type":"company","$group_key":"${uuid}","$group_set":${properties}}`
          : properties,
      person_properties: '{}',
      elements_chain: '',
      timestamp: at,
      created_at: at,
      inserted_at: at,
    };
  });
  await insertRows(harness.deps.clickhouse, values);
  return sent;
}

type StoredRow = { uuid: string; rest: string; values: ValueRow };

async function readRows(
  place: TypedPlace,
  typed: TypedProperty[],
  { model }: Sent,
): Promise<StoredRow[]> {
  const rows = await place.read([
    model === 'groups' ? ownColumn('group_key', 'text') : ownColumn('uuid', 'uuid'),
    ownColumn('properties_rest', 'json'),
    ...typed.map(({ column, type }) => ({ ...ownColumn(column, type), nullable: true })),
  ]);
  return rows.map(([uuid, rest, ...values]) => ({ uuid: uuid!, rest: rest!, values }));
}

/** Compares each property of each event or group with the one place where it must be. */
function compare(
  where: string,
  rows: StoredRow[],
  sent: Map<string, string>,
  typed: TypedProperty[],
): number {
  assert.equal(rows.length, sent.size, where);
  let compared = 0;
  for (const { uuid, rest, values } of rows) {
    const properties = propertiesOf(sent.get(uuid)!);
    const left = propertiesOf(rest);
    for (const [index, { property, type }] of typed.entries()) {
      const stored = values[index] ?? null;
      const about = `${where}: ${property} of ${sent.get(uuid)!}: ${stored} and rest ${rest}`;
      if (stored === null) continue;
      assert.equal(left.has(property), false, about);
      assert.ok(properties.has(property), about);
      assert.ok(isSame(type, properties.get(property)!, stored), about);
      properties.delete(property);
      compared += 1;
    }
    const spelled = (of: Map<string, string>) =>
      [...of].map(([name, value]) => [name, sameJson(value)]).toSorted();
    assert.deepEqual(spelled(left), spelled(properties), `${where}: ${sent.get(uuid)!}`);
    compared += left.size;
  }
  return compared;
}
