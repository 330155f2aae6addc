/** Bytes before each frame: its length, unsigned, big-endian. */
const head_bytes = 4;

/**
 * One message as it goes over a pipe: four bytes of length, then JSON in UTF-8. Throws a RangeError
 * when it is longer than the other side takes.
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
 * Takes a pipe's bytes as they come and gives `onMessage` each whole message, in order, as
 * `unknown`; returns their number. Throws, before it has kept the bytes, when a frame announces
 * more than `bytes_max`, and when one is not JSON; after that the pipe has to be closed.
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
