/**
 * Reads all bytes of a stream. Beyond the limit, it stops reading and throws the error of
 * `tooLarge`.
 */
export async function readBounded(
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  size_bytes_max: number,
  tooLarge: () => Error,
): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of bytes) {
    size += chunk.length;
    if (size > size_bytes_max) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}
