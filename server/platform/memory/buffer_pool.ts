import { openMinorCollection } from './minor_collection.ts';

/**
 * Blocks of memory that a stream of bytes is read into, one read behind the other; what lies in
 * them is lent to the stream's reader, a block at a time.
 */
export type BufferPool = {
  /** Free memory for the next read, of at least the size asked for when the blocks were opened. */
  room(): Buffer;
  /** Counts what was read into it; gives what the block holds once it has no room any more. */
  fill(count: number): Buffer | undefined;
  /** Returns bytes that were read and not given yet. */
  rest(): Buffer | undefined;
};

type Block = { buffer: Buffer; lent: number; free(block: Block): void };

/**
 * Larger ones bring the reader no more, and written as they are they cost more: a kernel answers a
 * write of a megabyte with pages as large, which a virtual machine may have to be given first.
 */
const block_bytes = 256 * 1024;
const blocks = new WeakMap<ArrayBufferLike, Block>();

/**
 * Opens blocks for reads of up to `room_bytes`. The reader gets pieces of about that size, because
 * each costs a turn of the event loop and calls to hash and write it. A block is filled again once
 * all its pieces are returned; a block that is not returned is garbage like any buffer. Garbage of
 * a large stream lies outside V8's heap, and V8 answers it with a full marking of the heap every
 * few dozen megabytes, on threads that an export needs.
 */
export function openBufferPool(room_bytes: number): BufferPool {
  const noteGarbage = openMinorCollection();
  const idle: Block[] = [];
  const created = (): Block => {
    const buffer = Buffer.allocUnsafeSlow(block_bytes);
    noteGarbage(block_bytes);
    const block = { buffer, lent: 0, free: (free: Block) => void idle.push(free) };
    blocks.set(buffer.buffer, block);
    return block;
  };
  let current: Block | undefined;
  let filled = 0;
  const lend = (): Buffer | undefined => {
    if (current === undefined || filled === 0) return undefined;
    const bytes = current.buffer.subarray(0, filled);
    current.lent = filled;
    current = undefined;
    filled = 0;
    return bytes;
  };
  return {
    room: () => {
      current ??= idle.pop() ?? created();
      return current.buffer.subarray(filled, filled + room_bytes);
    },
    fill: (count) => {
      filled += count;
      return filled + room_bytes > block_bytes ? lend() : undefined;
    },
    rest: lend,
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
  if (block.lent === 0) block.free(block);
}
