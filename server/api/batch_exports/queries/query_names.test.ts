import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parquetReadObjects } from 'hyparquet';
import { aroundTests } from '../../../../test/around_tests.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import {
  deliver,
  linesOf,
  statuses,
  toFolder,
} from '../../../../test/factories/batch_exports/query_deliveries.ts';

const exporting = aroundTests(openQueryHarness);

test('names that mean something to the store or to a format are only names', async () => {
  const names = [
    '__column_0',
    'column_2',
    'order_1',
    'inserted_at',
    'uuid',
    'team_id',
    `a"b'c\`d\\e, \n;--{p0:String}`,
    'ä😀',
    'SELECT',
    '%s',
  ];
  const list = names
    .map(
      (name, index) =>
        `concat(event, '${index}') AS \`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``,
    )
    .join(', ');
  for (const [file_format, end] of [
    ['JSONLines', '.jsonl'],
    ['CSV', '.csv'],
    ['Parquet', '.parquet'],
  ] as const) {
    const prefix = `names_${file_format}`;
    const { runs } = await deliver(
      exporting,
      prefix,
      `SELECT ${list}, properties FROM events WHERE event = 'buy'`,
      toFolder(prefix, { file_format }),
      1,
    );
    assert.deepEqual(statuses(runs), ['Completed 1'], file_format);
    const [bytes] = await exporting.filesIn(prefix, end);
    if (file_format === 'CSV') {
      assert.equal(
        String(bytes).split(/(?<=_column_0.*properties"\n)/s)[0],
        `${[...names, 'properties'].map((name) => `"${name.replaceAll('"', '""')}"`).join(',')}\n`,
      );
      continue;
    }
    const [row] =
      file_format === 'Parquet'
        ? await parquetReadObjects({ file: new Uint8Array(bytes!).buffer })
        : (linesOf(bytes) as Record<string, unknown>[]);
    assert.deepEqual(
      Object.entries(row!).slice(0, -1),
      names.map((name, index) => [name, `buy${index}`]),
      file_format,
    );
  }
});
