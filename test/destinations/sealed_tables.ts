import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { freshDelivery, outcomeOf } from '../factories/batch_exports/deliveries.ts';
import { sourceOf } from '../factories/batch_exports/content_sources.ts';
import type {
  Delivery,
  DestinationDefinition,
  DestinationDeps,
} from '../../server/engine/model/destination/destination.ts';
import type { Column } from '../../server/engine/model/models/column.ts';

const column = (name: string, type: Column['type']): Column => ({
  name,
  type,
  nullable: false,
  expression: name,
});
const columns = [
  column('uuid', 'uuid'),
  column('event', 'text'),
  column('properties', 'json'),
  column('team_id', 'integer'),
  column('timestamp', 'timestamp'),
  column('inserted_at', 'timestamp'),
];
const rows = 3;

/** Lines of an hour of a project. */
function linesOf(hour: number, team_id: number): string {
  const at = (minute: number) => `2026-01-01 0${hour}:0${minute}:00.000000`;
  const line = (_: unknown, n: number) =>
    `${randomUUID()}\tevent ${hour} ${n}\t{"n":${n}}\t${team_id}\t${at(n)}\t${at(n)}\n`;
  return Array.from({ length: rows }, line).join('');
}

const startOf = (hour: number) => Date.parse(`2026-01-01T0${hour}:00:00Z`);

/** A table, and the changes that a test makes to it besides the destination. */
type SealedTable = {
  definition: DestinationDefinition;
  config: Record<string, unknown>;
  deps: DestinationDeps;
  /** The quoted name of the table. */
  table: string;
  deliver(delivery: Delivery, text: string): Promise<void>;
  run(statement: string): Promise<unknown>;
};

/** The source of deliveries of an hour each. */
function sourceOfHours(deliveries: { delivery_id: string }[]) {
  const slice = { number: 0, records: rows, inserted_from: '', inserted_to: '' };
  return {
    ...sourceOf([]),
    contents: (id: string) => {
      const hour = deliveries.findIndex(({ delivery_id }) => delivery_id === id);
      const [inserted_from, inserted_to] = [startOf(hour), startOf(hour + 1)];
      return {
        selection: [{ event_from: null, event_to: null, inserted_from, inserted_to }],
        columns: [],
        slices: [{ ...slice, digest: '', is_rows_digest: true }],
      };
    },
  };
}

/**
 * Asserts that each change of a delivery changes only its own seal, and that a delivery of another
 * project to the same table changes none.
 */
export async function assertSeals(given: SealedTable): Promise<void> {
  const { definition, config, deps, table, deliver, run } = given;
  const batch_export_id = randomUUID();
  const both = [0, 1].map(() => freshDelivery({ columns, batch_export_id }));
  for (const [hour, one] of both.entries()) await deliver(one, linesOf(hour, one.team_id));
  const source = sourceOfHours(both);
  const delivered = both.map((delivery) => ({
    delivery,
    outcomes: [outcomeOf(rows)],
    manifest: '{}',
  }));
  const look = async () => {
    const seals = await definition.seals!(config, delivered, source, deps);
    return Promise.all(
      both.map(async ({ delivery_id }) => {
        const { text, isExpected } = seals!.get(delivery_id)!;
        return { text, is_expected: await isExpected() };
      }),
    );
  };
  const whole = await look();
  assert.deepEqual(await look(), whole);
  assert.deepEqual(
    whole.map(({ is_expected }) => is_expected),
    [true, true],
  );
  const stranger = freshDelivery({ columns, team_id: 8 });
  await deliver(stranger, linesOf(0, 8));
  assert.deepEqual(await look(), whole, 'rows of another project count');
  const of_first = `"event" = 'event 0 1'`;
  const changes: [string, boolean][] = [
    [`UPDATE ${table} SET "event" = 'other' WHERE ${of_first} AND "team_id" = 7`, true],
    [`INSERT INTO ${table} SELECT * FROM ${table} WHERE "event" = 'other'`, true],
    [`DELETE FROM ${table} WHERE "event" IN ('other', 'event 0 2') AND "team_id" = 7`, false],
  ];
  let before = whole;
  for (const [statement, is_expected] of changes) {
    await run(statement);
    const [first, second] = await look();
    assert.notEqual(first!.text, before[0]!.text, statement);
    assert.equal(first!.is_expected, is_expected, statement);
    assert.deepEqual(second, whole[1], statement);
    before = [first!, second!];
  }
}
