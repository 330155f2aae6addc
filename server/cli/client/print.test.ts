import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exportColumns, runColumns } from '../exports/shown_export.ts';
import { printJson, printRecord, printTable } from './print.ts';
import type { Column, Output } from './print.ts';

type Row = { name: string; rows: number | null };
const columns: Column<Row>[] = [
  { title: 'name', text: ({ name }) => name },
  { title: 'rows', text: ({ rows }) => rows },
];
const rows = [
  { name: 'a\tb\u001b[2J\nc', rows: 1 },
  { name: 'a name that is longer than the terminal is wide', rows: null },
];

function written(is_terminal: boolean, work: (output: Output) => void): string {
  let text = '';
  work({ is_terminal, columns: 30, write: (more) => void (text += more) });
  return text;
}

test('a program gets one line a row, which no value ends and no column is missing in', () => {
  const text = written(false, (output) => printTable(output, rows, columns));
  const lines = text.split('\n');
  assert.deepEqual(
    lines.map((line) => line.split('\t').length),
    [2, 2, 1],
  );
  assert.equal(lines[0], 'a b [2J c\t1');
  assert.ok(!text.includes('\u001b'));
  const record = written(false, (output) => printRecord(output, [['name', 'x\ny']]));
  assert.equal(record, 'name\tx y\n');
});

test('the text that may be long is the last column, the only one that is cut', () => {
  const output: Output = { is_terminal: true, columns: 120, write: () => undefined };
  const last = [exportColumns(output).at(-1)!.title, runColumns(output).at(-1)!.title];
  assert.deepEqual(last, ['cause', 'error']);
});

test('a terminal gets headings and columns; nothing in a value acts on it', () => {
  const text = written(true, (output) => printTable(output, rows.slice(0, 1), columns));
  const [head, line] = text.split('\n');
  assert.match(head!, /NAME {7}ROWS/);
  assert.equal(line, 'a b [2J c  1');
});

test('JSON is one line for a program, and reads back', () => {
  const text = written(false, (output) => printJson(output, rows));
  assert.equal(text.trim().split('\n').length, 1);
  assert.deepEqual(JSON.parse(text), rows);
  assert.deepEqual(JSON.parse(written(true, (output) => printJson(output, rows))), rows);
});
