/** Bytes before each frame: its length, unsigned, big-endian. */
const head_bytes = 4;

/**
 * Encodes one message for a pipe: four bytes of length, then JSON in UTF-8. Throws a RangeError if
 * it is longer than the other side accepts.
 */
export function encodeFrame(message: unknown, bytes_max: number): Buffer {
  const body = Buffer.from(JSON.stringify(message), 'utf8');
  if (body.length > bytes_max)
    throw new RangeError(`A message of ${body.length} bytes exceeds the limit of ${bytes_max}.`);
  const head = Buffer.alloc(head_bytes);
  head.writeUInt32BE(body.length);
  return Buffer.concat([head, body]);
}

/**
 * Reads a pipe's bytes and passes each complete message to `onMessage`, in order, as `unknown`;
 * returns their number. Throws, before it buffers the bytes, if a frame announces more than
 * `bytes_max`, and if one is not JSON. The caller must then close the pipe.
 */
export function openFrameReader(
  bytes_max: number,
  onMessage: (message: unknown) => void,
): (chunk: Buffer) => number {
  let chunks: Buffer[] = [];
  let size_bytes = 0;
  const take = (bytes: number): Buffer => {
    const all = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
    chunks = [all.subarray(bytes)];
    size_bytes -= bytes;
    return all.subarray(0, bytes);
  };
  let expected_bytes: number | undefined;
  return (chunk) => {
    chunks.push(chunk);
    size_bytes += chunk.length;
    for (let count = 0; ; count += 1) {
      if (expected_bytes === undefined) {
        if (size_bytes < head_bytes) return count;
        expected_bytes = take(head_bytes).readUInt32BE();
        if (expected_bytes > bytes_max)
          throw new RangeError(
            `A message of ${expected_bytes} bytes was announced; the limit is ${bytes_max}.`,
          );
      }
      if (size_bytes < expected_bytes) return count;
      const body = take(expected_bytes);
      expected_bytes = undefined;
      onMessage(JSON.parse(body.toString('utf8')));
    }
  };
}
