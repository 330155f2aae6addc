import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inTurn } from '../depth.ts';
import type { Column } from '../../server/engine/model/models/column.ts';
import type { Contract } from './destination_world.ts';

const digits = '-12345678901234567890123456789.123456789';
/** The days of some rows, from one before the epoch to one beyond every timestamp. */
const days = `[toDate32('1969-12-31'), toDate32('1900-01-01'), toDate32('2299-12-31')]`;
const day = `if(position = 3, NULL, ${days}[(position % 3) + 1])`;

/** A column of each native type of a query, with values that careless writers change. */
const native: Column[] = [
  { name: 'uuid', type: 'uuid', nullable: false, expression: 'uuid' },
  { name: 'day', type: 'date', nullable: true, expression: day },
  {
    name: 'exact',
    type: 'decimal',
    nullable: true,
    expression: `if(position = 2, NULL, if(position % 2 = 0, toDecimal128('${digits}', 9),
      toDecimal128('0.000000001', 9)))`,
  },
  {
    name: 'numbers',
    type: 'json',
    nullable: false,
    expression: '[9007199254740993, -position, toInt64(0)]',
    nested: { kind: 'list', of: { type: 'integer', nullable: false } },
  },
  {
    name: 'shares',
    type: 'json',
    nullable: false,
    expression: `map('a "quoted" key', 0.5, toString(position), -2.)`,
    nested: { kind: 'map', of: { type: 'float', nullable: false } },
  },
];

/**
 * Registers the test that days, exact numbers, lists and maps are returned unchanged, for
 * destinations of tables. It compares every value, which also finds a changed one.
 */
export function testNativeTypes(contract: Contract): void {
  if (contract.under.definition.column_set !== 'tables') return;
  test('days, exact numbers, lists and maps are kept as they are', async (context) => {
    const config = await contract.under.configure();
    const { definition } = contract.under;
    const deps = { ...contract.deps, merge: null };
    const steps = await definition.check(config, native, deps);
    assert.deepEqual(
      steps.filter(({ status }) => status !== 'passed'),
      [],
    );
    const delivered = await contract.deliverColumns(config, native);
    assert.deepEqual(await contract.verify(config, [delivered], native), []);
    for (const [name, expression] of inTurn(
      [
        ['day', `(${day}) + INTERVAL 1 DAY`],
        ['exact', `toDecimal128OrNull('0.000000002', 9)`],
        ['numbers', '[9007199254740992, -position, toInt64(0)]'],
        ['shares', `map('a "quoted" key', 0.25, toString(position), -2.)`],
      ],
      2,
    ))
      await context.test(`another value is found: ${name}`, async () => {
        const others = native.map((one) =>
          one.name === name ? { ...one, expression: expression! } : one,
        );
        const found = await contract.verify(config, [delivered], others);
        assert.ok(found.length > 0);
        assert.deepEqual([...new Set(found.map(({ kind }) => kind))], ['changed']);
        assert.ok(
          found.some(({ detail }) => detail.includes(name!)),
          found.map(({ detail }) => detail).join('\n'),
        );
      });
  });
}
