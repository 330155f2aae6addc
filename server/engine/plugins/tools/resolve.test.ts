import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { isFields } from '../../../platform/fields.ts';
import { findToolLibrary } from '../sandbox/tool_library.ts';
import { MappingFault, resolve, resolveMapping } from './resolve.ts';

// oxlint-disable unicorn/no-thenable -- The library's word for a branch.

const event = {
  type: 'track',
  event: 'Order Completed',
  messageId: '0190163d-8694-739b-aea5-966c26f8ad91',
  userId: 'ada',
  timestamp: '2026-11-30T10:00:00.000Z',
  properties: {
    price: 19.5,
    none: null,
    empty: '',
    zero: 0,
    no: false,
    order_id: 'O-1',
    currency: 'eur',
    products: [
      { product_id: 'p1', price: 5, name: 'Lamp' },
      { product_id: 'p2', price: 7 },
    ],
    nested: { list: [1, [2, 3]], deep: { er: 'x' } },
    json: '{"a":1}',
    $browser: 'Firefox',
  },
  traits: { email: 'Ada@Acme.com', address: { city: 'London' } },
  context: {
    traits: { email: 'ada@acme.com', phone: '+44 20', first_name: 'Ada' },
    page: { url: 'https://acme.com/?q=1' },
    device: { id: 'd1', type: 'ios' },
    ip: '198.51.100.7',
  },
};
const events = [event, { type: 'identify', userId: '', traits: {} }, {}];

type Transform = (mapping: object, event: object) => unknown;
type Definition = {
  actions: Record<string, { fields: Record<string, { default?: unknown }> }>;
  presets?: { mapping?: Record<string, unknown> }[];
};

function openLibrary() {
  const library = findToolLibrary(undefined);
  assert.ok(library, 'the package of tools is installed for development');
  const require = createRequire(`${library.folder}/package.json`);
  const { transform } = require('@segment/actions-core') as { transform: Transform };
  const { manifest } = require('@segment/action-destinations') as {
    manifest: Record<string, { definition: Definition }>;
  };
  return { transform, manifest };
}

const library = openLibrary();

/** Compares the results of both for a mapping, or that both refuse it. */
function compare(mapping: Record<string, unknown>, one: object): void {
  const attempt = (run: () => unknown) => {
    try {
      return { value: run() };
    } catch {
      return 'refused';
    }
  };
  assert.deepEqual(
    attempt(() => resolveMapping(mapping, one)),
    attempt(() => library.transform(structuredClone(mapping), one)),
    JSON.stringify(mapping),
  );
}

test('Each default and preset of the library resolves as the library resolves it', () => {
  const mappings = Object.values(library.manifest).flatMap(({ definition }) => [
    ...Object.values(definition.actions).flatMap(({ fields }) =>
      Object.entries(fields).flatMap(([key, { default: value }]) =>
        value === undefined ? [] : [{ [key]: value }],
      ),
    ),
    ...(definition.presets ?? []).flatMap(({ mapping }) =>
      mapping === undefined ? [] : [mapping],
    ),
  ]);
  const compared = mappings.filter((mapping) => !JSON.stringify(mapping).includes('"@liquid"'));
  assert.ok(compared.length > 5_000, `${compared.length} mappings`);
  for (const mapping of compared) for (const one of events) compare(mapping, one);
});

const path = (text: string) => ({ '@path': text });
const cases: unknown[] = [
  path('$.'),
  path('$.properties.products[1].price'),
  path('$.properties.products.0.name'),
  path("$.properties['order_id']"),
  path('$.properties.products.length'),
  path('$.properties.none.deeper'),
  path('$.properties.empty.deeper'),
  path('$.properties.$browser'),
  { '@path': { '@template': '$.properties.{{type}}' } },
  { '@template': '{{event}} {{{properties.price}}} {{ properties.nested }} {{absent}} {{' },
  { '@literal': { '@path': '$.event' } },
  { '@if': { exists: path('$.properties.none'), then: 1, else: 2 } },
  { '@if': { exists: path('$.properties.zero'), then: 1 } },
  { '@if': { blank: path('$.properties.empty'), then: 1, else: 2 } },
  { '@if': { blank: path('$.properties.zero'), then: 1, else: 2 } },
  { '@if': { blank: path('$.properties.price'), then: path('$.userId'), else: '' } },
  { '@if': {} },
  { '@case': { operator: 'upper', value: path('$.properties.currency') } },
  { '@case': { operator: 'lower', value: path('$.properties.price') } },
  { '@case': { operator: 'title', value: path('$.properties.currency') } },
  { '@replace': { pattern: '@', replacement: ' at ', value: path('$.traits.email') } },
  { '@replace': { pattern: 'A', ignorecase: true, global: false, value: path('$.traits.email') } },
  { '@replace': { pattern: 'a', replacement: 'b', pattern2: 'b', value: path('$.userId') } },
  { '@replace': { pattern: '.', replacement: ',', value: path('$.properties.price') } },
  { '@replace': { pattern: 'longer than ten', value: path('$.userId') } },
  { '@arrayPath': ['$.properties.products', { id: path('$.product_id'), n: path('$.name') }] },
  { '@arrayPath': ['$.traits', { mail: path('$.email') }] },
  { '@arrayPath': ['$.properties.absent', { id: path('$.x') }] },
  { '@arrayPath': ['$.properties.products'] },
  { '@flatten': { value: path('$.properties.nested'), separator: '_' } },
  { '@flatten': { value: path('$.properties'), separator: '.', omitArrays: true } },
  { '@json': { mode: 'encode', value: path('$.properties.nested') } },
  { '@json': { mode: 'decode', value: path('$.properties.json') } },
  { '@json': { mode: 'decode', value: path('$.properties.currency') } },
  { '@merge': { direction: 'right', objects: [path('$.traits'), { email: 'other' }] } },
  { '@merge': { direction: 'left', objects: [path('$.traits'), { email: 'other' }] } },
  { '@transform': { apply: { a: path('$.userId') }, mapping: { '@path': '$.a' } } },
  { '@excludeWhenNull': { a: null, b: { c: null, d: 1 }, e: path('$.properties.none') } },
  { '@excludeWhenNull': path('$.properties.none') },
  { '@path': '$.event', other: 1 },
  { '@unknown': 1 },
  [path('$.event'), { inner: path('$.absent') }],
  { '@path': '$.event', _metadata: { label: 'x' } },
];
for (const value of cases)
  test(`${JSON.stringify(value).slice(0, 70)} resolves as the library resolves it`, () => {
    for (const one of events) compare({ field: value }, one);
  });

test('A value cannot bring a template with it, and inherits nothing', () => {
  const hostile = { properties: { text: '{{secret}}' }, secret: 'hidden' };
  assert.equal(resolve({ '@template': '{{{properties.text}}}' }, hostile), '{{secret}}');
  assert.equal(resolve(path('$.properties.constructor'), hostile), undefined);
  assert.ok(!isFields(resolve(path('$.properties.__proto__'), hostile)));
  assert.throws(() => resolve({ '@liquid': '{{ x }}' }, hostile), MappingFault);
});
