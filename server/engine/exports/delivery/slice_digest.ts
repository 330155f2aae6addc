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
  /** Receives the bytes as they pass; absent if the store is asked instead. */
  look?: (chunk: Buffer) => void;
  value(): Promise<Pick<SliceOutcome, 'digest' | 'rows_digest'>>;
};

/**
 * Returns true if a digest can be compared later: the rows' instants identify their slice, and
 * later deliveries leave the rows unchanged.
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
 * Computes the digest of a slice from the bytes of its rows or, if these are binary, by a parallel
 * query.
 */
export function digestSlice(store: Store, slicing: Slicing): SliceDigest {
  const { columns, encoding } = slicing;
  if (encoding.format === 'TabSeparated') {
    const sum = openRowSum(columns, encoding);
    return { look: sum.take, value: async () => ({ rows_digest: sum.value() }) };
  }
  const asked = askDigest(store, slicing);
  // Awaited after the bytes, whose own error takes precedence.
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
