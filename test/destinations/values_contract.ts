import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { test } from 'node:test';
import { expectedRow } from '../factories/batch_exports/contract_rows.ts';
import type { Contract } from './destination_world.ts';
import { byValue, generated, generatedRows } from '../factories/events/generated_rows.ts';

const shown_max = 5;
const shown_characters = 400;

/**
 * Registers the test that the destination returns generated JSON unchanged, value by value.
 * `generated` decides the amount and the seed.
 */
export function testValues(contract: Contract): void {
  const { under } = contract;
  const skip = under.keeps_nothing === true;
  test('generated values come back as they were sent', { skip }, async (context) => {
    const config = await under.configure();
    const rows = generatedRows(generated);
    await contract.deliverGenerated(config, rows);
    const found = new Map(
      (await contract.readBack(config)).map((row) => [String(row['uuid']), row]),
    );
    assert.equal(found.size, rows.length);
    const known = under.numbers_by_value === true ? byValue : (value: unknown) => value;
    const faults: string[] = [];
    for (const row of rows) {
      const expected = known(expectedRow(row, { has_nul: under.has_nul }));
      const came = known(found.get(row.uuid));
      if (isDeepStrictEqual(came, expected)) continue;
      const [is, was] = [came, expected].map((value) =>
        JSON.stringify((value as { properties?: unknown }).properties).slice(0, shown_characters),
      );
      faults.push(
        `sent ${row.properties.slice(0, shown_characters)}\n  must be ${was}\n  is ${is}`,
      );
    }
    context.diagnostic(
      `${under.definition.type}: ${rows.length} generated values, seed ${generated.seed}: ` +
        `${faults.length} differ`,
    );
    assert.equal(faults.length, 0, faults.slice(0, shown_max).join('\n'));
  });
}
