import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import {
  contractColumns,
  contractRows,
} from '../../../../test/factories/batch_exports/contract_rows.ts';
import {
  clickhouse,
  from,
  openAroundTests,
} from '../../../../test/factories/batch_exports/encoded_contract.ts';
import type { Encoding } from '../../model/destination/encoding.ts';
import { content_encoding, selectFor } from '../../destinations/formats/select.ts';
import { readCsv } from '../../destinations/formats/text/read_csv.ts';
import { openRowSum } from '../../destinations/sql_tables/comparing/row_sum.ts';
import { digestSlice } from './slice_digest.ts';

openAroundTests();

const exact = { format: 'TabSeparated', compression: null, is_exact: true } as const;

/** The digest of the rows of the contract, which pass in pieces of so many bytes. */
async function digestOf(encoding: Encoding, piece_bytes: number) {
  const bytes = await clickhouse.bytes(selectFor(encoding, contractColumns), from);
  const slicing = { columns: contractColumns, encoding };
  const none = {} as Parameters<typeof digestSlice>[0];
  const { look, value } = digestSlice(none, slicing as Parameters<typeof digestSlice>[1]);
  for (let at = 0; at < bytes.length; at += piece_bytes)
    look!(bytes.subarray(at, at + piece_bytes));
  return value();
}

test('rows have one digest, in whatever text and pieces they pass', async () => {
  const wanted = openRowSum(contractColumns);
  const csv = await clickhouse.bytes(selectFor(content_encoding, contractColumns), from);
  for await (const row of readCsv(Readable.from([csv]))) wanted.add(row);
  assert.equal(wanted.records(), contractRows.length);
  const found = { rows_digest: wanted.value() };
  assert.deepEqual(await digestOf(exact, 1e9), found);
  assert.deepEqual(await digestOf(exact, 37), found);
  assert.deepEqual(await digestOf({ ...exact, has_names: true }, 1_000), found);
  assert.deepEqual(await digestOf({ ...exact, is_bare: true }, 1_000), found);
});
