import { Readable } from 'node:stream';
import { openRowDigest, digestHex } from '../../destinations/contents/digest.ts';
import type { Delivery } from '../../model/destination/destination.ts';
import type { ValueRow } from '../../model/destination/content_source.ts';
import { digest_settings, digestExpression } from '../../destinations/formats/digest_expression.ts';
import type { Encoding } from '../../model/destination/encoding.ts';
import { readCsv } from '../../destinations/formats/text/read_csv.ts';
import { openUnmarking } from '../../destinations/formats/marks.ts';
import { content_encoding, selectFor } from '../../destinations/formats/select.ts';
import type { Column } from '../../model/models/column.ts';
import type { SourceQuery } from '../source/source_query.ts';
import type { StoredSlice } from '../../model/run.ts';
import { ask, boundsOf } from '../source/source.ts';
import type { Store } from '../source/source.ts';
import { hasInstants } from '../../destinations/sql_tables/layout.ts';
import { rowsOf } from '../../destinations/sql_tables/tab_separated.ts';

/**
 * The digest of a slice of so few rows is made of its bytes as they pass: a question to the store
 * would take longer.
 */
const few_records = 1_000;
const kept_bytes_max = 4 * 1024 * 1024;

/** The bytes of a slice on their way, and the digest of its rows once they have passed. */
export type DigestedSlice = { source: Readable; digest(): Promise<string> };

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
 * Gives the bytes of a slice on, and finds its digest meanwhile: of few rows in the bytes
 * themselves, else by asking the store beside them.
 */
export function withDigest(store: Store, source: Readable, slicing: Slicing): DigestedSlice {
  const { slice, encoding } = slicing;
  if (slice.records > few_records || encoding.format === 'Parquet') {
    const asked = digestOf(store, slicing);
    // It is awaited after the bytes, whose own error comes first.
    asked.catch(() => undefined);
    return { source, digest: () => asked };
  }
  let kept: Buffer[] | undefined = [];
  let bytes = 0;
  const { take } = openUnmarking();
  const keep = (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > kept_bytes_max) kept = undefined;
    // A copy: the block that the chunk lies in is used again when it has passed.
    else kept?.push(Buffer.from(take(chunk)));
  };
  const passed = Readable.from(keeping(source, keep), { objectMode: false });
  // A generator that nobody has begun to read ends without its body.
  passed.once('close', () => source.destroy());
  return {
    source: passed,
    digest: () => (kept === undefined ? digestOf(store, slicing) : digestOfBytes(kept, slicing)),
  };
}

async function* keeping(source: Readable, keep: (chunk: Buffer) => void): AsyncGenerator<Buffer> {
  for await (const chunk of source as AsyncIterable<Buffer>) {
    keep(chunk);
    yield chunk;
  }
}

async function digestOfBytes(chunks: Buffer[], { columns, encoding }: Slicing): Promise<string> {
  const sum = openRowDigest(columns);
  const bytes = Readable.from(chunks);
  const rows: AsyncIterable<ValueRow> = encoding.format === 'CSV' ? readCsv(bytes) : rowsOf(bytes);
  let isName = encoding.format === 'TabSeparated' && encoding.has_names === true;
  for await (const row of rows) {
    if (!isName) sum.add(row);
    isName = false;
  }
  return sum.value();
}

async function digestOf(
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
