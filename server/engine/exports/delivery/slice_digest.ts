import { digestHex } from '../../destinations/contents/digest.ts';
import type { Delivery, SliceOutcome } from '../../model/destination/destination.ts';
import { digest_settings, digestExpression } from '../../destinations/formats/digest_expression.ts';
import type { Encoding } from '../../model/destination/encoding.ts';
import { content_encoding, selectFor } from '../../destinations/formats/select.ts';
import type { Column } from '../../model/models/column.ts';
import type { SourceQuery } from '../source/source_query.ts';
import type { StoredSlice } from '../../model/run.ts';
import { ask, boundsOf } from '../source/source.ts';
import type { Store } from '../source/source.ts';
import { openRowSum } from '../../destinations/sql_tables/comparing/row_sum.ts';
import { hasInstants } from '../../destinations/sql_tables/layout.ts';

/** The digest of a slice, known once its bytes have passed. */
export type SliceDigest = {
  /** Sees the bytes as they pass; left out where the store is asked. */
  look?: (chunk: Buffer) => void;
  value(): Promise<Pick<SliceOutcome, 'digest' | 'rows_digest'>>;
};

/**
 * True where a digest can be compared later: rows of a table that say by their instants which slice
 * they came by, and that later deliveries leave as they are.
 */
export function hasDigest(delivery: Delivery, columnSet: 'files' | 'tables'): boolean {
  return columnSet === 'tables' && hasInstants(delivery);
}

type Slicing = {
  reading: SourceQuery;
  slice: StoredSlice;
  columns: Column[];
  encoding: Encoding;
  signal: AbortSignal;
};

/**
 * Finds the digest of a slice in the bytes of its rows or, where these are binary, by asking the
 * store beside them.
 */
export function digestSlice(store: Store, slicing: Slicing): SliceDigest {
  const { columns, encoding } = slicing;
  if (encoding.format === 'TabSeparated') {
    const sum = openRowSum(columns, encoding);
    return { look: sum.take, value: async () => ({ rows_digest: sum.value() }) };
  }
  const asked = askDigest(store, slicing);
  // It is awaited after the bytes, whose own error comes first.
  asked.catch(() => undefined);
  return { value: async () => ({ digest: await asked }) };
}

async function askDigest(
  store: Store,
  { reading, slice, columns, signal }: Slicing,
): Promise<string> {
  const { expressions, settings } = selectFor(content_encoding, columns);
  const { where, parameters } = boundsOf(reading, slice, columns);
  const [row] = await ask<{ digest: string }>(store, reading, {
    query: `SELECT ${digestExpression(columns)} AS digest FROM (SELECT ${expressions}
      FROM ${reading.text}${where})`,
    parameters,
    settings: { ...settings, ...digest_settings },
    signal,
  });
  return digestHex(BigInt(row?.digest ?? '0'));
}
