import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Type } from 'typebox';
import { shapeOf } from './shape.ts';

const job = shapeOf(
  Type.Object({
    name: Type.String({ maxLength: 3 }),
    when: Type.Union([Type.Number(), Type.String({ format: 'date-time' })]),
    args: Type.Optional(Type.Tuple([Type.Integer(), Type.Unknown()])),
    counts: Type.Optional(Type.Record(Type.String(), Type.Integer(), { maxProperties: 1 })),
  }),
);

test('a value with the shape and more properties is accepted', () => {
  for (const right of [
    { name: 'a', when: 1.5 },
    { name: 'abc', when: '2026-01-01T00:00:00Z', args: [1, null], counts: { a: 1 }, more: [] },
  ]) {
    assert.ok(job.is(right));
    assert.equal(job.fault(right), '');
  }
});

test('a value without the shape is refused, and its first fault is named', () => {
  for (const [wrong, fault] of [
    [null, ' must be object'],
    [{ when: 1 }, " must have required property 'name'"],
    [{ name: 'abcd', when: 1 }, '/name must NOT have more than 3 characters'],
    [{ name: 'a', when: 'soon' }, '/when must be number'],
    [{ name: 'a', when: '2026-02-30T00:00:00Z' }, '/when must be number'],
    [{ name: 'a', when: Number.NaN }, '/when must be number'],
    [{ name: 'a', when: 1, args: [1] }, '/args must NOT have fewer than 2 items'],
    [{ name: 'a', when: 1, args: [1, 2, 3] }, '/args must NOT have more than 2 items'],
    [{ name: 'a', when: 1, args: [1.5, 2] }, '/args/0 must be integer'],
    [
      { name: 'a', when: 1, counts: { a: 1, b: 2 } },
      '/counts must NOT have more than 1 properties',
    ],
    [Object.create({ name: 'a', when: 1 }), " must have required property 'name'"],
  ]) {
    assert.ok(!job.is(wrong), JSON.stringify(wrong));
    assert.equal(job.fault(wrong), fault);
  }
});
