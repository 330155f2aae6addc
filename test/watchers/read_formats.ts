import { zstdDecompressSync } from 'node:zlib';
import { parquetReadObjects } from 'hyparquet';
import type { Column } from '../../server/engine/model/models/column.ts';
import { parseExact } from '../factories/batch_exports/contract_rows.ts';

type Row = Record<string, unknown>;

/**
 * Returns JSON lines as rows; numbers that JavaScript would round become `number <text>`, integers
 * of 64 bits text.
 */
export function parseJsonLines(bytes: Buffer): Row[] {
  const lines = bytes.toString('utf8').split('\n');
  if (lines.pop() !== '') throw new Error('The last line has no end.');
  return lines.map((line) => {
    const row = parseExact(line) as Row;
    const exact = (value: unknown) => String(value).replace(/^number /, '');
    const ratio = row['ratio'] === null ? null : Number(exact(row['ratio']));
    return { ...row, amount: exact(row['amount']), ratio };
  });
}

/** Returns CSV as in RFC 4180, read independently of the writer. */
export function parseCsv(bytes: Buffer, columns: Column[]): Row[] {
  const text = bytes.toString('utf8');
  const field = /(?:"([^"]*(?:""[^"]*)*)"|([^,\n]*))(,|\n)/gy;
  const records: (string | null)[][] = [[]];
  for (let match = field.exec(text); match !== null; match = field.exec(text)) {
    const [, quoted, bare, end] = match;
    records
      .at(-1)
      ?.push(
        quoted === undefined ? (bare === '' ? null : (bare ?? null)) : quoted.replaceAll('""', '"'),
      );
    if (end === '\n') records.push([]);
  }
  records.pop();
  return records
    .slice(1)
    .map((record) =>
      Object.fromEntries(
        columns.map((column, index) => [column.name, fromText(column, record[index] ?? null)]),
      ),
    );
}

function fromText(column: Column, text: string | null): unknown {
  if (text === null) return null;
  if (column.type === 'json') return parseExact(text);
  if (column.type === 'float') return Number(text);
  return column.type === 'boolean' ? text === 'true' : text;
}

/**
 * Returns a Parquet file (uncompressed or snappy) as rows, read by another library than the
 * writer's.
 */
export async function parseParquet(bytes: Buffer, columns: Column[]): Promise<Row[]> {
  const raw = (instant: bigint) => {
    const seconds = new Date(Number((instant - (((instant % 1_000n) + 1_000n) % 1_000n)) / 1_000n))
      .toISOString()
      .slice(0, 23);
    return `${seconds}${String(((instant % 1_000n) + 1_000n) % 1_000n).padStart(3, '0')}Z`;
  };
  const parsers = { timestampFromMicroseconds: raw };
  const file = new Uint8Array(bytes).buffer;
  const compressors = { ZSTD: (packed: Uint8Array) => zstdDecompressSync(packed) };
  const rows = await parquetReadObjects({ file, parsers, compressors });
  return rows.map((row) =>
    Object.fromEntries(
      columns.map((column) => {
        const value: unknown = row[column.name] ?? null;
        if (column.type === 'json') return [column.name, parseExact(String(value))];
        return [column.name, column.type === 'integer' ? String(value) : value];
      }),
    ),
  );
}
