import assert from 'node:assert/strict';
import { test } from 'node:test';
import { filterInWords, filterOf } from './conditions.ts';

const zone = 'Europe/Berlin';
const filter = (values: Record<string, string>) => filterOf(values, zone);
const properties = (lines: string) => filter({ filter__properties: lines }).properties;

test('a line is a property with a text, a number or a boolean', () => {
  assert.deepEqual(properties('plan = trial\n\nseats=5\n paid = true \nzip = "04109"'), [
    { key: 'plan', value: 'trial' },
    { key: 'seats', value: 5 },
    { key: 'paid', value: true },
    { key: 'zip', value: '04109' },
  ]);
  // A value that JSON has no number for is a text, and so are lists and null.
  assert.deepEqual(properties('zip = 04109\nquery = a=b\nlist = [1]\nnone = null\nempty ='), [
    { key: 'zip', value: '04109' },
    { key: 'query', value: 'a=b' },
    { key: 'list', value: '[1]' },
    { key: 'none', value: 'null' },
    { key: 'empty', value: '' },
  ]);
});

test('no digit of a number is lost', () => {
  const sent = (written: string) => JSON.stringify(properties(`id = ${written}`)?.[0]);
  for (const written of [
    '9007199254740993',
    '-9007199254740993',
    '0.12345678901234567891',
    '1e400',
  ])
    assert.equal(sent(written), `{"key":"id","value":${written}}`);
  assert.match(
    filterInWords({ filter__properties: 'id = 9007199254740993' }, zone),
    /whose id is 9007199254740993,/,
  );
});

test('half a property is left to the API, which refuses it', () => {
  assert.deepEqual(properties('plan'), [{ key: 'plan' }]);
});

test('the question says which days and which values are meant', () => {
  const words = (values: Record<string, string>) => filterInWords(values, zone);
  assert.equal(words({ filter__events: 'paid' }), 'All of them of every day, and no persons,');
  assert.equal(
    words({ filter__after: '2026-01-02', filter__before: '2026-01-03' }),
    'All of them from 2026-01-02 on and before 2026-01-03 (Europe/Berlin), and no persons,',
  );
  assert.equal(
    words({ filter__properties: 'plan = 5\nzip = "5"' }),
    'All of them of every day whose plan is 5 and whose zip is the text “5”, and no persons,',
  );
});

test('days begin when the clocks of the zone say so, also where they are moved at midnight', () => {
  const days = { filter__after: '2026-03-29', filter__before: '2026-03-30' };
  assert.deepEqual(filter(days), {
    after: '2026-03-28T23:00:00.000Z',
    before: '2026-03-29T22:00:00.000Z',
  });
  assert.deepEqual(filterOf(days, 'Asia/Beirut').after, '2026-03-28T22:00:00.000Z');
  // The API refuses a text that is no day; without it, events of all days would be deleted.
  assert.deepEqual(filter({ filter__after: '12026-03-29' }), { after: '12026-03-29' });
});
