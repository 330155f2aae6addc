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
import { selectFor } from '../../destinations/formats/select.ts';
import { withDigest } from './slice_digest.ts';

openAroundTests();

test('few rows have one digest, in whatever bytes they pass', async () => {
  const digestOf = async (encoding: Encoding) => {
    const bytes = await clickhouse.bytes(selectFor(encoding, contractColumns), from);
    const slicing = {
      slice: { records: contractRows.length },
      columns: contractColumns,
      encoding,
    };
    const none = {} as Parameters<typeof withDigest>[0];
    const { source, digest } = withDigest(
      none,
      Readable.from([bytes]),
      slicing as unknown as Parameters<typeof withDigest>[2],
    );
    await source.toArray();
    return digest();
  };
  const exact = { format: 'TabSeparated', compression: null, is_exact: true } as const;
  const digest = await digestOf({ format: 'CSV', compression: null });
  assert.equal(await digestOf(exact), digest);
  assert.equal(await digestOf({ ...exact, has_names: true }), digest);
});
