import { openMinorCollection } from './minor_collection.ts';

/**
 * Blocks of memory for reading a stream of bytes, one read after the other; the stream's reader
 * borrows their contents, a block at a time.
 */
export type BufferPool = {
  /**
   * Returns free memory for the next read, of at least the size requested when the blocks were
   * opened.
   */
  room(): Buffer;
  /** Counts the bytes that were read into it; returns the block's contents once it is full. */
  fill(count: number): Buffer | undefined;
  /** Returns bytes that were read and not returned yet. */
  rest(): Buffer | undefined;
};

type Block = { buffer: Buffer; lent: number; free(block: Block): void };

/**
 * Larger blocks help the reader no further, and unchanged writes of them cost more. A kernel
 * answers a write of a megabyte with equally large pages, which a virtual machine may first have to
 * get.
 */
const block_bytes = 256 * 1024;
const blocks = new WeakMap<ArrayBufferLike, Block>();

/**
 * Opens blocks for reads of up to `room_bytes`. The reader gets pieces of about that size, because
 * each costs a turn of the event loop and calls to hash and write it. A block is reused once all
 * its pieces are returned; a block that is not returned is garbage like any buffer. Garbage of a
 * large stream is outside V8's heap, and V8 reacts with a full marking of the heap every few dozen
 * megabytes, on threads that an export needs.
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

/** Returns true for lent bytes: they are no garbage of their stream. */
export function isPooled(bytes: Uint8Array): boolean {
  return blocks.has(bytes.buffer);
}

/**
 * Returns lent bytes, whole or in parts, each byte once: called by the last reader, who must not
 * read them again. Does nothing for bytes that were not lent, and the call is optional.
 */
export function giveBack(bytes: Uint8Array): void {
  const block = blocks.get(bytes.buffer);
  if (block === undefined) return;
  if (bytes.byteLength > block.lent) throw new Error('Bytes were given back twice.');
  block.lent -= bytes.byteLength;
  if (block.lent === 0) block.free(block);
}
