import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  expectedRow,
  parseExact as parsed,
} from '../../../../test/factories/batch_exports/contract_rows.ts';
import { generated, generatedRows } from '../../../../test/factories/events/generated_rows.ts';
import { drawsOf, numberText } from '../../../../test/factories/events/generated_json.ts';
import { isTooDeep, nesting_max, parseExact, shortNumber } from './exact_json.ts';

const kept = (text: string) => JSON.stringify(parseExact(text));

test('generated values are kept as they were sent, numbers in their own notation', (context) => {
  const rows = generatedRows(generated);
  for (const row of rows)
    assert.deepEqual(
      parsed(kept(row.properties)),
      expectedRow(row, { has_nul: true })['properties'],
      row.properties,
    );
  context.diagnostic(
    `ingestion: ${rows.length} generated values, seed ${generated.seed}: 0 differ`,
  );
});

test('every notation of a number is kept, wherever it stands', () => {
  const draw = drawsOf(generated.seed);
  const fixed = ['1.0', '1e5', '-0.0', '-0', '1.10', '1E5', '1e-7', '0.0000001', '1e21', '1e+21'];
  const numbers = [...fixed, ...Array.from({ length: 2_000 }, () => numberText(draw))];
  for (const number of numbers) {
    for (const text of [
      `{"n":${number}}`,
      `[${number}]`,
      `[1,${number},2]`,
      `{"a":[{"b":${number}}]}`,
    ])
      assert.equal(kept(text), text);
    assert.equal(kept(`{ "n" :\t${number}\n}`), `{"n":${number}}`);
    assert.equal(
      kept(JSON.stringify({ text: ` ${number},` })),
      JSON.stringify({ text: ` ${number},` }),
    );
  }
});

test('the last value of a repeated key stays', () => {
  assert.equal(kept('{"a":1.0,"b":2,"a":1.50}'), '{"a":1.50,"b":2}');
  assert.equal(kept('{"a":1,"b":2,"a":{"c":1}}'), '{"a":{"c":1},"b":2}');
});

test('a number that names something is in its shortest form, and loses no digit', () => {
  const cases: [string, string][] = [
    ['17', '17'],
    ['17.0', '17'],
    ['1.7e1', '17'],
    ['-0.0', '0'],
    ['1.7145648E9', '1714564800'],
    ['1714564800.250', '1714564800.25'],
    ['0.10', '0.1'],
    ['12345678901234567890', '12345678901234567890'],
    ['1714564800.123456789', '1714564800.123456789'],
    ['1e30', '1e30'],
    ['1e-9', '1e-9'],
  ];
  for (const [written, short] of cases) assert.equal(shortNumber(written), short);
});

test('a number of its own notation is no level of nesting', () => {
  const nested = (levels: number, inside: string) =>
    `${'['.repeat(levels)}${inside}${']'.repeat(levels)}`;
  for (const inside of ['1', '1.0', '12345678901234567890']) {
    assert.equal(isTooDeep(parseExact(nested(nesting_max, inside))), false, inside);
    assert.equal(isTooDeep(parseExact(nested(nesting_max + 1, inside))), true, inside);
  }
});
