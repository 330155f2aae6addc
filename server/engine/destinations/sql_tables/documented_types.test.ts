import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import type { Column, ColumnType } from '../../model/models/column.ts';
import { stageFields } from '../bigquery/table.ts';
import { typeOf as clickHouseType } from '../clickhouse/table.ts';
import { newSchema } from '../lake/schema.ts';
import { typeOf as mySqlType } from '../mysql/table.ts';
import { typeOf as postgresType } from '../postgres/table.ts';
import type { RedshiftConfig } from '../redshift/config.ts';
import { typeOf as redshiftType } from '../redshift/table.ts';
import { typeOf as snowflakeType } from '../snowflake/table.ts';

const redshift = (column: Column, properties_data_type: 'varchar' | 'super') =>
  redshiftType({ properties_data_type } as RedshiftConfig, column);

/** The types of a column in each database, in the order of the page. */
const typesOf: ((column: Column) => string)[] = [
  postgresType,
  mySqlType,
  (column) => clickHouseType(column),
  (column) => redshift(column, 'varchar'),
  snowflakeType,
  (column) => stageFields([column])[0]!.type,
  (column) => String(newSchema([column]).fields[0]!.type),
];

test('docs/export_columns.md has the types of the tables that Sluice creates', async () => {
  const page = await readFile(
    new URL('../../../../docs/export_columns.md', import.meta.url),
    'utf8',
  );
  const section = page.split('## Types in tables')[1]!.split('\n## ')[0]!;
  const rows = section
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2, -1);
  const types = rows.map((row) => row.split('|')[1]!.trim() as ColumnType);
  assert.equal(new Set(types).size, 9);
  for (const [index, type] of types.entries()) {
    const column: Column = { name: 'x', type, nullable: false, expression: 'x' };
    const [, , ...cells] = rows[index]!.split('|').map((cell) => cell.trim());
    const first = cells.slice(0, -1).map((cell) => /^`([^`]+)`/.exec(cell)?.[1]);
    assert.deepEqual(
      first,
      typesOf.map((typeOf) => typeOf(column)),
      type,
    );
  }
  const json: Column = { name: 'x', type: 'json', nullable: false, expression: 'x' };
  assert.equal(redshift(json, 'super'), 'super');
});
