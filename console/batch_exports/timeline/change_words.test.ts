import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeDestination } from '../../../server/api/destinations/describe.ts';
import { findDestination } from '../../../server/engine/destinations/index.ts';
import { changesInWords } from './change_words.ts';

const mask = '********';
const type = describeDestination(findDestination('Postgres')!);

test('a changed secret is told, without its values', () => {
  const changed = (action: 'created' | 'changed' | 'deleted') =>
    changesInWords(
      [
        {
          field: 'destination.config.password',
          action,
          before: action === 'created' ? null : mask,
          after: action === 'deleted' ? null : mask,
        },
      ],
      type,
    ).map(({ label, before, after }) => [label, before, after]);
  assert.deepEqual(changed('changed'), [['Password changed', '', '']]);
  assert.deepEqual(changed('created'), [['Password set', '', '']]);
  assert.deepEqual(changed('deleted'), [['Password removed', '', '']]);
});

test('fields have the names of the form, and those that show the same are left out', () => {
  const change = (field: string, before: unknown, after: unknown) =>
    ({ field, action: 'changed', before, after }) as const;
  const told = changesInWords(
    [
      change('destination.config.table_name', 'events', 'events3'),
      change('destination.config.require_tls', true, false),
      change('freshness_seconds', null, 90),
      change('pause_reason.code', null, 'x'),
      change('end_at', '2026-01-01', null),
      change('custom_query', null, ''),
    ],
    type,
  );
  assert.deepEqual(
    told.map(({ label, before, after }) => `${label}: ${before} ${after}`),
    [
      'Table: events events3',
      'Require TLS: on off',
      'Late after (seconds):  90',
      'Pause reason code:  x',
      'End: 2026-01-01 nothing',
    ],
  );
  assert.equal(
    changesInWords([change('destination.config.a_key', 1, 2)], undefined)[0]?.label,
    'A key',
  );
});
