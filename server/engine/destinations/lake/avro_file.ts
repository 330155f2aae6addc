import { createHash } from 'node:crypto';
import { deflateRawSync, inflateRawSync, zstdDecompressSync } from 'node:zlib';
import avsc from 'avsc';
import type { Type } from 'avsc';

/** A schema of Avro as plain JSON; keys unknown to Avro, such as `field-id`, stay in it. */
export type AvroSchema = { [key: string]: unknown };

/** Longs are bigints on both sides: avsc's own refuse those beyond 2^53. */
// oxlint-disable-next-line no-underscore-dangle -- avsc calls it so
const long = avsc.types.LongType.__with({
  fromBuffer: (bytes: Buffer) => bytes.readBigInt64LE(),
  toBuffer: (value: bigint) => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(value);
    return bytes;
  },
  fromJSON: BigInt,
  toJSON: String,
  isValid: (value: unknown) => typeof value === 'bigint',
  compare: (one: bigint, other: bigint) => (one < other ? -1 : one > other ? 1 : 0),
});

const magic = Buffer.from('Obj\u0001', 'latin1');
const sync_bytes = 16;
const header = avsc.Type.forSchema({
  type: 'record',
  name: 'header',
  fields: [
    { name: 'magic', type: { type: 'fixed', name: 'magic', size: magic.length } },
    { name: 'meta', type: { type: 'map', values: 'bytes' } },
    { name: 'sync', type: { type: 'fixed', name: 'sync', size: sync_bytes } },
  ],
});
/** Limit of an unpacked block: manifests of other writers have some megabytes. */
const block_bytes_max = 256 * 1024 * 1024;

/** Types by their schemas as JSON, the newest last: each contains code that is generated once. */
const types = new Map<string, Type>();
const types_max = 16;

function typeOf(schema: AvroSchema): Type {
  const text = JSON.stringify(schema);
  const type = types.get(text) ?? avsc.Type.forSchema(schema as never, { registry: { long } });
  types.delete(text);
  types.set(text, type);
  if (types.size > types_max) types.delete(types.keys().next().value!);
  return type;
}

/**
 * Returns the bytes of an Avro file with these records in one block, and with `meta` and the schema
 * in its header. The same records give the same bytes.
 */
export function writeAvro(
  schema: AvroSchema,
  records: object[],
  meta: Record<string, string>,
): Buffer {
  const type = typeOf(schema);
  const block = deflateRawSync(Buffer.concat(records.map((record) => type.toBuffer(record))));
  const sync = createHash('sha256').update(block).digest().subarray(0, sync_bytes);
  const texts = { 'avro.schema': JSON.stringify(schema), 'avro.codec': 'deflate', ...meta };
  const head = header.toBuffer({
    magic,
    meta: Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text)])),
    sync,
  });
  if (records.length === 0) return head;
  const lengths = [records.length, block.length].map((count) => long.toBuffer(BigInt(count)));
  return Buffer.concat([head, ...lengths, block, sync]);
}

/** The content of an Avro file. */
export type AvroFile = { schema: AvroSchema; records: object[]; meta: Record<string, string> };

/** Reads an Avro file of any writer. Throws for an invalid or truncated file. */
export function readAvro(bytes: Buffer): AvroFile {
  const { value, offset } = header.decode(bytes, 0) as {
    value?: { magic: Buffer; meta: Record<string, Buffer>; sync: Buffer };
    offset: number;
  };
  if (value === undefined || offset < 0 || !value.magic.equals(magic))
    throw new Error('It is no Avro file.');
  const meta = Object.fromEntries(
    Object.entries(value.meta).map(([key, text]) => [key, text.toString('utf8')]),
  );
  const schema = JSON.parse(meta['avro.schema'] ?? '') as AvroSchema;
  const type = typeOf(schema);
  const records: object[] = [];
  for (let at = offset; at < bytes.length;) {
    const count = decodeLong(bytes, at);
    const size = decodeLong(bytes, count.offset);
    const end = size.offset + size.value + sync_bytes;
    if (end > bytes.length || !bytes.subarray(end - sync_bytes, end).equals(value.sync))
      throw new Error('An Avro file is damaged.');
    const block = unpacked(bytes.subarray(size.offset, end - sync_bytes), meta['avro.codec']);
    for (let from = 0, read = 0; read < count.value; read += 1) {
      const record = type.decode(block, from) as { value?: object; offset: number };
      if (record.value === undefined) throw new Error('An Avro file is damaged.');
      records.push(record.value);
      from = record.offset;
    }
    at = end;
  }
  return { schema, records, meta };
}

function decodeLong(bytes: Buffer, at: number): { value: number; offset: number } {
  const { value, offset } = long.decode(bytes, at) as { value?: bigint; offset: number };
  if (value === undefined || value < 0n) throw new Error('An Avro file is damaged.');
  return { value: Number(value), offset };
}

function unpacked(block: Buffer, codec = 'null'): Buffer {
  const options = { maxOutputLength: block_bytes_max };
  if (codec === 'null') return block;
  if (codec === 'deflate') return inflateRawSync(block, options);
  if (codec === 'zstandard') return zstdDecompressSync(block, options);
  throw new Error(`Sluice cannot read Avro files that are packed with ${codec}.`);
}
