import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mergeOf } from '../../../server/engine/destinations/sql_tables/layout.ts';
import { models } from '../../../server/engine/model/models/index.ts';
import { bodyOf, draftOf, model_choices } from './draft.ts';
import type { Base } from './draft.ts';
import { keysFor, namesIn, offeredColumns, usualKeys, withName } from './write_mode.ts';

const merged = {
  ...draftOf(undefined, 'UTC'),
  mode: 'merge' as const,
  primary_key: ' uuid ,, event',
  version_key: 'inserted_at',
};
const sentOf = ({ mode, primary_key, version_key }: Partial<ReturnType<typeof bodyOf>>) => [
  mode,
  primary_key,
  version_key,
];

test('keys are names in their order, and are sent only with a merge', () => {
  assert.deepEqual(namesIn(' a, b ,'), ['a', 'b']);
  assert.deepEqual([withName('', 'a'), withName('a, ', 'b')], ['a', 'a, b']);
  const sent = (draft: typeof merged | ReturnType<typeof draftOf>) =>
    sentOf(bodyOf(draft, undefined, undefined, 'UTC'));
  assert.deepEqual(sent(merged), ['merge', ['uuid', 'event'], ['inserted_at']]);
  assert.deepEqual(sent({ ...merged, mode: 'append' }), ['append', null, null]);
  assert.deepEqual(sent({ ...merged, mode: '' }), [null, null, null]);
  const bodies = (['append', 'replace'] as const).map(
    (mode) =>
      bodyOf({ ...merged, mode, allow_empty: true }, undefined, undefined, 'UTC').allow_empty,
  );
  assert.deepEqual(bodies, [undefined, true]);
});

test('of a stored export only the changed key is sent', () => {
  const base = {
    destination: { type: 'Postgres', config: {} },
    custom_query: null,
    mode: 'merge',
    primary_key: ['uuid'],
    version_key: ['inserted_at'],
  } as unknown as Base;
  const draft = draftOf(base, 'UTC');
  assert.deepEqual(bodyOf(draft, base, undefined, 'UTC'), {});
  assert.deepEqual(bodyOf({ ...draft, primary_key: 'event' }, base, undefined, 'UTC'), {
    primary_key: ['event'],
  });
});

test('a model offers its own columns, a query those of its first rows', () => {
  const columns = [
    { name: 'uuid', type: 'uuid' as const, nullable: false },
    { name: 'properties', type: 'json' as const, nullable: false },
    { name: 'inserted_at', type: 'timestamp' as const, nullable: false },
  ];
  const type = { models: [{ model: 'events' as const, columns }] };
  assert.deepEqual(offeredColumns({ model: 'events', is_query: false }, type, []), {
    primary_key: ['uuid', 'inserted_at'],
    version_key: ['inserted_at'],
  });
  const of_query = offeredColumns({ model: 'events', is_query: true }, type, ['n']);
  assert.deepEqual(of_query, { primary_key: ['n'], version_key: ['n'] });
  assert.equal(usualKeys({ model: 'events', is_query: true }).primary_key, '');
  assert.equal(usualKeys({ model: 'person_distinct_ids', is_query: false }).version_key, 'version');
});

test('the usual keys of each model are its own, and follow another model', () => {
  for (const { value: model } of model_choices.filter(({ value }) => value !== 'events')) {
    const { key = [], versions = [] } =
      mergeOf({ model, columns: models[model].columns.tables }) ?? {};
    const { primary_key, version_key } = usualKeys({ model, is_query: false });
    assert.deepEqual([namesIn(primary_key), namesIn(version_key)], [key, versions], model);
  }
  const usual = { model: 'events' as const, is_query: false, primary_key: 'uuid' };
  const before = { ...usual, version_key: 'inserted_at' };
  assert.equal(keysFor('groups', before).primary_key, 'team_id, group_id');
  const typed = { ...before, primary_key: 'event' };
  assert.deepEqual(keysFor('groups', typed), { primary_key: 'event', version_key: 'inserted_at' });
});
