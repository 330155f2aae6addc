import assert from 'node:assert/strict';
import { test } from 'node:test';
import { models } from '../../model/models/index.ts';
import { model_names } from '../../model/models/model.ts';
import { tableStatement } from '../clickhouse/table.ts';
import { isMerged, keyColumn, mergeOf, versionColumns } from './layout.ts';
import { testedLayout } from './trial/sample_row.ts';

test('rows of events are added, those of the other models merged by key and version', () => {
  const seen = model_names.map((model) => {
    const { tables: columns } = models[model].columns;
    const layout = { model, columns };
    const engine = /ENGINE =\s+(\w+(?:\([^)]*\))?)/.exec(tableStatement('t', layout))?.[1];
    const tested = mergeOf(testedLayout({ columns }));
    assert.deepEqual(tested, mergeOf(layout), 'a connection test merges as the export does');
    return [model, keyColumn(layout), isMerged(layout), versionColumns(layout), engine];
  });
  assert.deepEqual(seen, [
    ['events', 'uuid', false, [], 'MergeTree'],
    [
      'persons',
      'distinct_id',
      true,
      ['person_version', 'person_distinct_id_version'],
      'ReplacingMergeTree(`sluice_version`)',
    ],
    [
      'person_distinct_ids',
      'distinct_id',
      true,
      ['version'],
      'ReplacingMergeTree(`sluice_version`)',
    ],
    ['sessions', 'session_id', true, ['session_version'], 'ReplacingMergeTree(`sluice_version`)'],
    ['groups', 'group_id', true, ['group_version'], 'ReplacingMergeTree(`sluice_version`)'],
  ]);
});
