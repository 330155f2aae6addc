import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readFilter } from '../../../server/engine/plugins/tools/filter/read_filter.ts';
import { filterText, rowsOf } from './filter_rows.ts';
import type { FilterRows } from './filter_rows.ts';

/** The rows that the form shows for a filter. */
function shown(text: string): FilterRows | undefined {
  const filter = readFilter(text);
  if (typeof filter === 'string') throw new Error(`${text}: ${filter}`);
  return rowsOf(filter);
}

const texts = [
  'type = "track"',
  'type = "track" and event = "Order Completed"',
  'type = "track" and (event = "A" or event = "B")',
  'event = "A" or event = "B"',
  'event = "A" or properties.plan = "pro"',
  'type != "page" and properties.price > 10 and properties.price <= 20.5',
  'properties.paid = true and properties.code = "5" and properties.code != "true"',
  'properties.plan != null and properties.gone = null',
  'contains(properties.$browser, "Fire") and !contains(event, "x")',
  'match(event, "Order*") and !match(event, "*Completed")',
  'properties.first\\ name = "Ada" and properties.a\\.b = "c"',
  'properties.quote = "a \\"b\\" \\\\ c" and properties.empty = ""',
  'type != ""',
];
for (const text of texts)
  test(`${text} is shown as rows, and stored as it was`, () =>
    assert.equal(filterText(shown(text)!), text));

test('Groups that are no list of values are not shown as rows', () => {
  assert.equal(shown('type = "track" and (event = "A" or userId = "b")'), undefined);
  assert.equal(shown('(event = "A" and userId = "b") or type = "page"'), undefined);
  assert.equal(shown('event = "a, b" or event = "c"')?.match, 'any');
});

test('A row that is not complete is left out, and what is typed is quoted', () => {
  const rows = (...typed: FilterRows['rows']) => filterText({ match: 'all', rows: typed });
  assert.equal(rows({ field: '', operator: 'is', value: 'x' }), 'type != ""');
  assert.equal(
    rows(
      { field: 'type', operator: 'is', value: 'track' },
      { field: 'event', operator: 'is', value: ' ' },
      { field: 'properties.first name', operator: 'one_of', value: 'Ada, "5",7,' },
    ),
    'type = "track" and (properties.first\\ name = "Ada" or properties.first\\ name = "5" or ' +
      'properties.first\\ name = 7)',
  );
});
