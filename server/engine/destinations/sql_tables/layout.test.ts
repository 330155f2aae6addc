import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { models } from '../../model/models/index.ts';
import { model_names } from '../../model/models/model.ts';
import { tableStatement } from '../clickhouse/table.ts';
import { isMerged, keyColumn, mergeKey, newerCondition, versionColumns } from './layout.ts';
import { testedLayout } from './sample_row.ts';

test('rows of events are added, those of the other models merged by key and version', () => {
  const seen = model_names.map((model) => {
    const { tables: columns } = models[model].columns;
    const layout = { model, columns };
    const engine = /ENGINE =\s+(\w+(?:\(\w*\))?)/.exec(tableStatement('t', layout))?.[1];
    const tested = testedLayout(columns);
    assert.equal(isMerged(tested), isMerged(layout), 'a connection test merges as the export does');
    assert.deepEqual(mergeKey(tested), mergeKey(layout), 'and by the same key');
    return [model, keyColumn(layout), isMerged(layout), versionColumns(layout), engine];
  });
  assert.deepEqual(seen, [
    ['events', 'uuid', false, [], 'MergeTree'],
    [
      'persons',
      'distinct_id',
      true,
      ['person_version', 'person_distinct_id_version'],
      'ReplacingMergeTree(person_version)',
    ],
    ['person_distinct_ids', 'distinct_id', true, ['version'], 'ReplacingMergeTree(version)'],
    ['sessions', 'session_id', true, ['session_version'], 'ReplacingMergeTree(session_version)'],
  ]);
});

test('the first version that differs decides which row is newer; NULL is the lowest', () => {
  const database = new DatabaseSync(':memory:');
  const values = [null, 1, 2];
  const pairs = values.flatMap((one) => values.map((other) => [one, other] as const));
  const condition = newerCondition(['v', 'w'], {
    came: (name) => `came.${name}`,
    there: (name) => `there.${name}`,
  });
  const statement = database.prepare(
    `SELECT (${condition}) IS TRUE AS is_newer FROM (SELECT ? AS v, ? AS w) AS came,
      (SELECT ? AS v, ? AS w) AS there`,
  );
  const rank = (value: number | null) => value ?? -1;
  for (const [v, w] of pairs)
    for (const [other_v, other_w] of pairs) {
      const expected =
        v === other_v ? rank(w) > rank(other_w) || other_w === null : rank(v) > rank(other_v);
      const { is_newer } = statement.get(v, w, other_v, other_w) as { is_newer: number };
      assert.equal(is_newer === 1, expected, JSON.stringify([v, w, other_v, other_w]));
    }
  database.close();
});
