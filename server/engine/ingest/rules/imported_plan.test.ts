import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readTrackingPlan } from './imported_plan.ts';

const schema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  type: 'object',
  properties: {
    total: { type: ['number'], description: 'With tax', minimum: 0 },
    coupon: { type: ['string', 'null'], enum: ['SPRING', null] },
    items: { type: 'array', items: {} },
    count: { type: ['integer', 'number'] },
    note: {},
  },
  required: ['total', 'coupon', 'cart_id'],
};
const around = { type: 'object', properties: { context: {}, traits: {}, properties: schema } };
const event = {
  event: 'order paid',
  description: 'Paid',
  properties: [
    { name: 'total', type: 'number', required: true },
    { name: 'coupon', type: 'text', required: false, values: ['SPRING'] },
    { name: 'items', type: 'list', required: false },
    { name: 'count', type: 'number', required: false },
    { name: 'note', type: 'any', required: false },
    { name: 'cart_id', type: 'any', required: true },
  ],
  other_properties: 'allow',
};
const told = [
  'total: `minimum` is not compared.',
  'coupon: It may be null, so it is not required here.',
];
const rule = { name: 'order paid', description: 'Paid' };

const files: [maker: string, file: unknown][] = [
  [
    'Segment, Public API',
    { data: { rules: [{ ...rule, key: 'order paid', type: 'TRACK', jsonSchema: around }] } },
  ],
  [
    'Segment, Config API, and Avo',
    { display_name: 'Shop', rules: { events: [{ ...rule, version: 1, rules: around }] } },
  ],
  [
    'RudderStack',
    { name: 'Shop', events: [{ ...rule, eventType: 'track', rules: schema }], version: 3 },
  ],
  ['a list of schemas', [{ title: 'order paid', description: 'Paid', ...schema }]],
  ['schemas by event', { 'order paid': { description: 'Paid', ...schema } }],
  ['one schema', { title: 'order paid', description: 'Paid', ...schema }],
];
for (const [maker, file] of files)
  test(`a plan of this form is read: ${maker}`, () => {
    const read = readTrackingPlan(file);
    assert.deepEqual(read?.events, [event]);
    assert.deepEqual(
      read.left_out.map((one) => `${one.property}: ${one.detail}`),
      told,
    );
  });

test('what a plan cannot compare is told by name', () => {
  const read = readTrackingPlan({
    rules: {
      identify: { properties: { traits: { required: ['email'] } } },
      group: {},
      events: [
        { name: 'a', rules: { properties: { x: { type: ['string', 'number'] } }, allOf: [{}] } },
        { name: 'a', rules: schema },
        { name: 'b', rules: { ...schema, additionalProperties: false, properties: {} } },
        { name: ' ', rules: schema },
        { name: 'c' },
        {
          name: 'd',
          rules: {
            properties: {
              context: { required: ['ip'] },
              properties: {
                properties: { ' x': {}, y: { $ref: '#/definitions/y' }, z: { enum: [[1], 'b'] } },
              },
            },
          },
        },
      ],
    },
  });
  assert.deepEqual(
    read?.events.map((one) => [one.event, one.properties.length, one.other_properties]),
    [
      ['a', 1, 'allow'],
      ['b', 3, 'report'],
      ['d', 2, 'allow'],
    ],
  );
  assert.deepEqual(
    read.left_out.map((one) => [one.event, one.property, one.detail]),
    [
      ['a', null, 'Sluice does not check these parts of the schema: `allOf`.'],
      ['a', 'x', 'The types `string`, `number` become any value.'],
      ['a', null, 'The file has this event twice.'],
      [null, null, 'It has no name.'],
      ['c', null, 'It has no JSON Schema.'],
      ['d', null, 'Rules of `context` are not compared.'],
      ['d', ' x', 'Its name begins or ends with a space.'],
      ['d', 'y', '`$ref` is not compared.'],
      ['d', 'z', '`enum` is not compared.'],
      [null, null, 'Rules of the call `identify` define no event.'],
    ],
  );
});

test('anything else is no plan', () => {
  for (const file of [null, 7, 'plan', {}, [], [1], { events: 3 }, { a: 1 }]) {
    const read = readTrackingPlan(file);
    assert.equal(read === undefined || read.events.length === 0, true, JSON.stringify(file));
  }
});
