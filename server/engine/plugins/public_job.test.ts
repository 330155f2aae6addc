import assert from 'node:assert/strict';
import { test } from 'node:test';
import { publicJobPayload } from './public_job.ts';

const spec = {
  payload: {
    name: { type: 'string', title: 'Name', required: true },
    again: { type: 'boolean' },
    more: { type: 'json' },
    size: { type: 'number', default: 5 },
    day: { type: 'date' },
    days: { type: 'daterange' },
    inner: { type: 'string', staff_only: true, default: 'theirs' },
    odd: { type: 'nobody knows' },
  },
};
const read = (sent: Record<string, unknown>, of: unknown = spec) => publicJobPayload(of, sent);
const ok = { name: 'x', size: 5, inner: 'theirs' };

const accepted: [Record<string, unknown>, Record<string, unknown>][] = [
  [{ name: 'x' }, ok],
  [
    { name: 'x', size: null, again: false },
    { ...ok, again: false },
  ],
  [
    { name: 'x', size: 0, more: [1, { a: null }], odd: {} },
    { ...ok, size: 0, more: [1, { a: null }], odd: {} },
  ],
  [
    { name: 'x', day: '2026-02-28' },
    { ...ok, day: '2026-02-28' },
  ],
  [
    { name: 'x', day: '2026-02-28T10:00:00+01:00' },
    { ...ok, day: '2026-02-28T10:00:00+01:00' },
  ],
  [
    { name: 'x', days: ['2026-01-01', '2026-01-01'] },
    { ...ok, days: ['2026-01-01', '2026-01-01'] },
  ],
];
const refused: [Record<string, unknown>, [string, string]][] = [
  [{}, ['name', 'required']],
  [{ name: '' }, ['name', 'required']],
  [{ name: 5 }, ['name', 'invalid_input']],
  [{ name: 'x', nobody: 1 }, ['nobody', 'unknown_field']],
  [{ name: 'x', again: 'yes' }, ['again', 'invalid_input']],
  [{ name: 'x', size: 2 ** 53 }, ['size', 'invalid_input']],
  [{ name: 'x', more: { ids: [1, -(2 ** 53)] } }, ['more', 'invalid_input']],
  [{ name: 'x', size: '5' }, ['size', 'invalid_input']],
  [{ name: 'x', day: '2026-02-30' }, ['day', 'invalid_input']],
  [{ name: 'x', day: 'tomorrow' }, ['day', 'invalid_input']],
  [{ name: 'x', days: ['2026-01-02', '2026-01-01'] }, ['days', 'invalid_input']],
  [{ name: 'x', days: '2026-01-02' }, ['days', 'invalid_input']],
  [{ name: 'x', inner: 'mine' }, ['inner', 'invalid_input']],
  [{ name: 'x', more: 'a'.repeat(70_000) }, ['', 'max_length']],
];

test('a job takes values of its kinds, with defaults', () => {
  for (const [sent, payload] of accepted) assert.deepEqual(read(sent), { payload });
});

test('an unfit value of a job is named by its field', () => {
  for (const [sent, [attr, code]] of refused) {
    const found = read(sent);
    assert.ok('faults' in found, JSON.stringify(sent));
    assert.deepEqual(
      found.faults.map((fault) => [fault.attr, fault.code]),
      [[attr, code]],
    );
  }
});

test('a job without fields takes no values, with any spec', () => {
  for (const other of [{}, { payload: {} }, { payload: 5 }, null, 'x']) {
    assert.deepEqual(read({}, other), { payload: {} });
    assert.ok('faults' in read({ a: 1 }, other));
  }
});

test('a field named __proto__ is one like any other', () => {
  const of = { payload: JSON.parse('{"__proto__": {"type": "string"}}') as unknown };
  const found = read(JSON.parse('{"__proto__": "x"}') as Record<string, unknown>, of);
  assert.equal(JSON.stringify(found), '{"payload":{"__proto__":"x"}}');
});
