import { openMinorCollection } from './minor_collection.ts';

/**
 * Blocks of memory that a stream of bytes is read into; what lies in them is lent to the stream's
 * reader.
 */
export type BufferPool = {
  /** Free memory for the next read, of at least the size asked for when the blocks were opened. */
  room(): Buffer;
  /** The first `count` bytes of the last room, for the stream's reader. */
  lend(count: number): Buffer;
};

type Block = {
  buffer: Buffer;
  filled: number;
  lent: number;
  isCurrent: boolean;
  free(block: Block): void;
};

const block_bytes = 1024 * 1024;
const blocks = new WeakMap<ArrayBufferLike, Block>();

/**
 * Opens blocks for reads of up to `room_bytes`. A block is filled again when all that was lent of
 * it was given back; one that nobody gives back is garbage like any buffer. What a large stream
 * leaves behind lies outside of V8's heap, which answers it with a full marking of the heap every
 * few dozen megabytes, on threads that an export needs.
 */
export function openBufferPool(room_bytes: number): BufferPool {
  const noteGarbage = openMinorCollection();
  const idle: Block[] = [];
  const free = (block: Block): void => {
    block.filled = 0;
    idle.push(block);
  };
  const next = (): Block => {
    const block = idle.pop() ?? made(free);
    block.isCurrent = true;
    return block;
  };
  const made = (whenFree: Block['free']): Block => {
    const buffer = Buffer.allocUnsafeSlow(block_bytes);
    noteGarbage(block_bytes);
    const block = { buffer, filled: 0, lent: 0, isCurrent: true, free: whenFree };
    blocks.set(buffer.buffer, block);
    return block;
  };
  let current = next();
  return {
    room: () => {
      if (current.filled + room_bytes > block_bytes) {
        current.isCurrent = false;
        if (current.lent === 0) free(current);
        current = next();
      }
      return current.buffer.subarray(current.filled, current.filled + room_bytes);
    },
    lend: (count) => {
      const from = current.filled;
      current.filled += count;
      current.lent += count;
      return current.buffer.subarray(from, current.filled);
    },
  };
}

/** True where the bytes were lent: then they are not garbage of the stream that brought them. */
export function isPooled(bytes: Uint8Array): boolean {
  return blocks.has(bytes.buffer);
}

/**
 * Gives bytes back that were lent, whole or in parts, each byte once: by the last one who reads
 * them, who must not look at them again. Does nothing for bytes that were not lent, and nobody has
 * to call it.
 */
export function giveBack(bytes: Uint8Array): void {
  const block = blocks.get(bytes.buffer);
  if (block === undefined) return;
  if (bytes.byteLength > block.lent) throw new Error('Bytes were given back twice.');
  block.lent -= bytes.byteLength;
  if (block.lent === 0 && !block.isCurrent) block.free(block);
}
