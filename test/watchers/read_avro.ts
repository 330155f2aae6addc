import { Readable } from 'node:stream';
import { inflateRawSync, zstdDecompressSync } from 'node:zlib';
import avro from 'avsc';
import { snappyUncompress } from 'hyparquet';
import { readHeader } from '../../server/engine/destinations/formats/avro/avro_header.ts';
import type { Column } from '../../server/engine/model/models/column.ts';
import { parseExact } from '../factories/batch_exports/contract_rows.ts';

type Row = Record<string, unknown>;
type Decoded = (error: Error | null, data?: Buffer) => void;

const codecs = {
  null: (data: Buffer, done: Decoded) => done(null, data),
  deflate: (data: Buffer, done: Decoded) => done(null, inflateRawSync(data)),
  zstandard: (data: Buffer, done: Decoded) => done(null, zstdDecompressSync(data)),
  snappy: (data: Buffer, done: Decoded) => {
    const unpacked = Buffer.alloc(lengthOf(data));
    snappyUncompress(data.subarray(0, -4), unpacked);
    done(null, unpacked);
  },
};

function lengthOf(data: Buffer): number {
  let length = 0;
  for (let at = 0; ; at += 1) {
    length += (data[at]! & 127) * 128 ** at;
    if (data[at]! < 128) return length;
  }
}

/** Integers of 64 bits that JavaScript would round. */
const exactLong = avro.types.LongType['__with']({
  fromBuffer: (bytes: Buffer) => bytes.readBigInt64LE(),
  toBuffer: () => Buffer.alloc(8),
  fromJSON: BigInt,
  toJSON: String,
  isValid: (value: unknown) => typeof value === 'bigint',
  compare: (one: bigint, other: bigint) => (one < other ? -1 : one > other ? 1 : 0),
});

function exactLongs(schema: unknown): avro.Type | undefined {
  const { type } = (typeof schema === 'object' ? schema : { type: schema }) as { type?: unknown };
  return type === 'long' ? exactLong : undefined;
}

/** The schema of an Avro file. */
export function avroSchema(bytes: Buffer): { fields: { name: string; type: unknown }[] } {
  const text = readHeader(bytes)?.metadata.get('avro.schema') ?? '{}';
  return JSON.parse(text) as { fields: { name: string; type: unknown }[] };
}

/**
 * Returns the records of an Avro file, read by another library than the writer's; longs are
 * bigints.
 */
export async function readAvroRecords(bytes: Buffer): Promise<Row[]> {
  const decoder = new avro.streams.BlockDecoder({
    codecs,
    parseHook: (schema: avro.Schema) => avro.Type.forSchema(schema, { typeHook: exactLongs }),
  });
  const rows: Row[] = [];
  Readable.from([bytes]).pipe(decoder);
  for await (const row of decoder) rows.push({ ...(row as Row) });
  return rows;
}

/** Returns an Avro file as rows of the contract. */
export async function parseAvro(bytes: Buffer, columns: Column[]): Promise<Row[]> {
  const rows = await readAvroRecords(bytes);
  return rows.map((row) =>
    Object.fromEntries(columns.map(({ name, type }) => [name, valueOf(type, row[name] ?? null)])),
  );
}

function valueOf(type: Column['type'], value: unknown): unknown {
  if (value === null) return null;
  if (type === 'json') return parseExact(value as string);
  if (type === 'integer') return (value as bigint).toString();
  return type === 'timestamp' ? instantOf(value as bigint) : value;
}

function instantOf(microseconds: bigint): string {
  const rest = ((microseconds % 1_000n) + 1_000n) % 1_000n;
  const start = new Date(Number((microseconds - rest) / 1_000n)).toISOString().slice(0, 23);
  return `${start}${String(rest).padStart(3, '0')}Z`;
}
