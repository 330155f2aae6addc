import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { countProcessorTime } from '../../../../test/processor_time.ts';
import { parseExact } from '../../../engine/ingest/parse/exact_json.ts';
import { readTime } from './times.ts';

const spelled: [unknown, string | undefined][] = [
  ['2024-05-01T10:00:00', '2024-05-01T10:00:00.000Z'],
  ['2024-05-01 10:00:00,5', '2024-05-01T10:00:00.500Z'],
  ['2024-05-01', '2024-05-01T00:00:00.000Z'],
  ['2024-05-01T24:00:00Z', '2024-05-02T00:00:00.000Z'],
  ['2024/05/01 10:00:00', '2024-05-01T10:00:00.000Z'],
  ['2024/05/01 10:00:00 +0200', '2024-05-01T08:00:00.000Z'],
  ['12/11/2024', '2024-12-11T00:00:00.000Z'],
  ['Wed, 01 May 2024 10:00:00 GMT', '2024-05-01T10:00:00.000Z'],
  ['Wed, 01 May 2024 10:00:00', '2024-05-01T10:00:00.000Z'],
  ['Wed May 01 2024 10:00:00 GMT+0200 (CEST)', '2024-05-01T08:00:00.000Z'],
  ['May 1, 2024 10:00 PM', '2024-05-01T22:00:00.000Z'],
  ['1-May-2024', '2024-05-01T00:00:00.000Z'],
  ['+002024-05-01T10:00:00Z', '2024-05-01T10:00:00.000Z'],
  [parseExact('1714557600.0'), '2024-05-01T10:00:00.000Z'],
  [parseExact('1.7145576e9'), '2024-05-01T10:00:00.000Z'],
  [0, '1970-01-01T00:00:00.000Z'],
  ['order 5', undefined],
  ['order 2024', undefined],
  ['-1', undefined],
  [-1, undefined],
  [parseExact('-1.0'), undefined],
  [parseExact('1e400'), undefined],
  ['2020-02-30T00:00:00Z', undefined],
  ['2020-02-30', undefined],
  ['yesterday', undefined],
  [true, undefined],
];

for (const [value, wanted] of spelled)
  test(`the time ${JSON.stringify(value)}`, () => {
    const read_ms = readTime(value);
    assert.equal(read_ms === undefined ? read_ms : new Date(read_ms).toISOString(), wanted);
  });

test('a text that is no time costs nothing, at any length', () => {
  const worked_ms = countProcessorTime();
  for (const end of ['x', '(', '+'])
    assert.equal(readTime(`May 2024${' '.repeat(60_000)}${end}`), undefined);
  assert.ok(worked_ms() < 1_000);
});

test('the zone of the machine changes no time', () => {
  const given = JSON.stringify(spelled.map(([value]) => value).filter((one) => one !== undefined));
  const program = `
    const { readTime } = await import(${JSON.stringify(join(import.meta.dirname, 'times.ts'))});
    console.log(JSON.stringify(${given}.map((one) => readTime(one) ?? null)));`;
  const [here, there] = ['UTC', 'America/Caracas'].map((TZ) =>
    execFileSync(process.execPath, ['--input-type=module', '-e', program], {
      env: { TZ },
      encoding: 'utf8',
    }),
  );
  assert.equal(there, here);
});
