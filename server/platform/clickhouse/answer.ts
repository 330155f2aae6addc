import { closeSync, constants, lstatSync, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { Readable, addAbortSignal } from 'node:stream';
import { text } from 'node:stream/consumers';
import { parseError } from '@clickhouse/client';
import type { ExecParams } from '@clickhouse/client';
import { openBufferPool } from '../memory/buffer_pool.ts';
import type { ClickHouse } from './client.ts';

/**
 * The header by which a reader requests a large answer through a named pipe, and in which the
 * embedded store, on the same machine, names the pipe. The body of such an answer is empty, and
 * ends when the query has succeeded, or contains the error. A ClickHouse server ignores it and
 * answers as usual.
 */
export const pipe_header = 'x-sluice-pipe';

/** Capacity of a pipe. */
const read_bytes = 64 * 1024;
const waiting_bytes = 256 * 1024;

/** The header's value for columns of types that every format supports. */
export const plain_columns = 'plain';

/**
 * Streams a large answer by the shortest path: from the embedded store's engine straight into this
 * process, without a third process and a connection. If no pipe is available, it works like any
 * answer. Guarantee: the stream ends cleanly only after the store has reported success, and fails
 * otherwise. Destroying it or aborting the signal stops the query. Rejects with the store's error
 * if it comes before the first byte. The bytes are lent: see `giveBack`. `is_plain`: the format
 * might refuse some column types, but not these, so the store can skip its test over no rows.
 */
export async function streamAnswer(
  clickhouse: ClickHouse,
  params: ExecParams,
  { is_plain = false }: { is_plain?: boolean } = {},
): Promise<Readable> {
  const { stream, response_headers } = await clickhouse.exec({
    ...params,
    http_headers: { ...params.http_headers, [pipe_header]: is_plain ? plain_columns : '1' },
  });
  const path = response_headers[pipe_header];
  if (typeof path !== 'string') return untilAborted(stream, params);
  const ends = openEnds(path);
  if (ends !== undefined) return untilAborted(readPipe(ends, stream), params);
  stream.destroy();
  return untilAborted((await clickhouse.exec(params)).stream, params);
}

/** The client itself only heeds the signal until the answer begins. */
function untilAborted(stream: Readable, { abort_signal }: ExecParams): Readable {
  return abort_signal === undefined ? stream : addAbortSignal(abort_signal, stream);
}

/**
 * The read end, and a write end without a writer. While it is held, the reader sees no end,
 * although the engine may not have opened the pipe yet, or may have stopped.
 */
type Ends = { read: number; hold: number };

/**
 * Undefined if this process has no such pipe: the query has failed and removed it, or the store has
 * its own file system.
 */
function openEnds(path: string): Ends | undefined {
  let hold: number | undefined;
  try {
    const found = lstatSync(path);
    if (!found.isFIFO() || found.uid !== process.getuid?.()) return undefined;
    // Opened for both directions, so that it does not wait for anybody.
    hold = openSync(path, constants.O_RDWR | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    return {
      hold,
      read: openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW),
    };
  } catch {
    if (hold !== undefined) closeSync(hold);
    return undefined;
  }
}

function readPipe(ends: Ends, outcome: Readable): Readable {
  const bytes = streamOf(ends.read);
  let isHeld = true;
  const letEnd = () => {
    if (isHeld) closeSync(ends.hold);
    isHeld = false;
  };
  bytes.once('close', () => {
    letEnd();
    outcome.destroy();
  });
  text(outcome).then(
    (told) => (told === '' ? letEnd() : bytes.destroy(parseError(told))),
    (error: Error) => bytes.destroy(error),
  );
  return bytes;
}

/** Streams the bytes of a pipe in lent blocks. */
function streamOf(fd: number): Readable {
  const blocks = openBufferPool(read_bytes);
  const socket = new Socket({
    fd,
    readable: true,
    writable: false,
    onread: { buffer: blocks.room, callback: (count) => give(blocks.fill(count)) },
  });
  const give = (piece: Buffer | undefined) => piece === undefined || stream.push(piece);
  const stream = new Readable({
    highWaterMark: waiting_bytes,
    read: () => void socket.resume(),
    destroy: (error, done) => {
      socket.destroy();
      done(error);
    },
  });
  socket.once('end', () => {
    give(blocks.rest());
    stream.push(null);
  });
  socket.once('error', (error) => stream.destroy(error));
  return stream;
}
