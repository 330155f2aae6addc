const magic = Buffer.from('Obj\u0001', 'latin1');
const marker_bytes = 16;

/** A parsed value, and where the next one begins. */
type Read<Value> = { value: Value; end: number };

/** Reads the header of a file, which ends after its marker; undefined if it is incomplete. */
export function readHeader(
  bytes: Buffer,
): { metadata: Map<string, string>; end: number } | undefined {
  if (bytes.length < magic.length) return undefined;
  if (!bytes.subarray(0, magic.length).equals(magic)) throw new Error('It is no Avro file.');
  const metadata = new Map<string, string>();
  let at = magic.length;
  for (;;) {
    const count = readLong(bytes, at);
    if (count === undefined) return undefined;
    at = count.end;
    if (count.value === 0) break;
    if (count.value < 0) throw damaged();
    for (let entry = 0; entry < count.value; entry += 1) {
      const name = readBytes(bytes, at);
      const content = name && readBytes(bytes, name.end);
      if (content === undefined) return undefined;
      metadata.set(name!.value.toString(), content.value.toString());
      at = content.end;
    }
  }
  return bytes.length < at + marker_bytes ? undefined : { metadata, end: at + marker_bytes };
}

function readBytes(bytes: Buffer, at: number): Read<Buffer> | undefined {
  const length = readLong(bytes, at);
  if (length === undefined) return undefined;
  if (length.value < 0) throw damaged();
  const end = length.end + length.value;
  return bytes.length < end ? undefined : { value: bytes.subarray(length.end, end), end };
}

/** Reads a count or a length, far below 2^53; undefined if it is incomplete. */
export function readLong(bytes: Buffer, from: number): Read<number> | undefined {
  let value = 0;
  for (let at = from, factor = 1; at < bytes.length; at += 1, factor *= 128) {
    const byte = bytes[at]!;
    value += (byte & 127) * factor;
    if (value > Number.MAX_SAFE_INTEGER) throw damaged();
    if (byte < 128) return { value: value % 2 === 0 ? value / 2 : -(value + 1) / 2, end: at + 1 };
  }
  return undefined;
}

/** Returns the error for bytes that are no Avro. */
export function damaged(): Error {
  return new Error('The Avro file is damaged.');
}
