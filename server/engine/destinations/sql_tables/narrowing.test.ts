import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ColumnType } from '../../model/models/column.ts';
import { narrowed } from './narrowing.ts';

const cases: [ColumnType, string, string | undefined, boolean?][] = [
  ['timestamp', 'date', 'the time of day'],
  ['timestamp', 'time', 'the day'],
  ['timestamp', 'time without time zone', 'the day'],
  ['timestamp', 'timestamp(0) with time zone', 'the fraction of the second'],
  ['timestamp', 'timestamp(3) without time zone', 'the places of a second after 3'],
  ['timestamp', 'timestamp with time zone', undefined],
  ['timestamp', 'timestamp(6) with time zone', undefined],
  ['timestamp', 'datetime', 'the fraction of the second'],
  ['timestamp', 'timestamp', 'the fraction of the second'],
  ['timestamp', 'datetime(3)', 'the places of a second after 3'],
  ['timestamp', 'datetime(6)', undefined],
  ['timestamp', 'text', undefined],
  ['float', 'real', 'digits after the seventh'],
  ['float', 'float', 'digits after the seventh'],
  ['float', 'numeric(10,2)', 'decimals after 2 places'],
  ['float', 'decimal(10,0)', 'its decimals'],
  ['float', 'numeric', undefined],
  ['float', 'double precision', undefined],
  ['float', 'bigint', undefined],
  ['float', 'bigint', 'its decimals', true],
  ['float', 'int unsigned', 'its decimals', true],
  ['integer', 'real', 'digits after the seventh'],
  ['integer', 'double', 'digits after the fifteenth'],
  ['integer', 'bigint', undefined],
  ['integer', 'numeric(20,0)', undefined],
  ['text', 'name', 'what comes after 63 bytes'],
  ['text', 'character(10)', 'blanks at the end'],
  ['text', 'character varying(10)', undefined],
  ['json', 'jsonb', undefined],
  ['uuid', 'char(36)', undefined],
];

for (const [type, found, lost, rounds_to_whole = false] of cases)
  test(`${type} into ${found} loses ${lost ?? 'nothing'}, ${rounds_to_whole}`, () => {
    const column = { name: 'x', type } as never;
    const said = narrowed('mine', [{ column, type: found }], { rounds_to_whole });
    if (lost === undefined) assert.equal(said, undefined);
    else assert.ok(said?.includes(`the column x is ${found} and loses ${lost}.`), said);
  });
