import { closeSync, constants, lstatSync, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { Readable, addAbortSignal } from 'node:stream';
import { text } from 'node:stream/consumers';
import { parseError } from '@clickhouse/client';
import type { ExecParams } from '@clickhouse/client';
import { openBufferPool } from '../memory/buffer_pool.ts';
import type { ClickHouse } from './client.ts';

/**
 * The header with which a reader asks for a large answer through a named pipe, and in which the
 * embedded store, which is on the same machine, names the pipe. The body of such an answer is
 * empty, and ends when the query has succeeded, or is the error. A ClickHouse server does not know
 * it and answers as ever.
 */
export const pipe_header = 'x-sluice-pipe';

/** Capacity of a pipe. */
const read_bytes = 64 * 1024;
const waiting_bytes = 256 * 1024;

/** The header's value where the columns are of types that every format takes. */
export const plain_columns = 'plain';

/**
 * Streams a large answer by the shortest way: from the engine of the embedded store straight into
 * this process, and not through a third one and a connection; where there is no such pipe, as every
 * answer. Guarantee: the stream ends cleanly only when the store has reported success, and errors
 * otherwise; when it is destroyed, or the signal aborted, the query is stopped. Rejects with the
 * store's error where there is one before the first byte. The bytes are lent: see `giveBack`.
 * `is_plain`: the format is one that could refuse some columns, and these it cannot, so that the
 * store need not try it on no rows first.
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

/** The client itself heeds the signal only until the answer begins. */
function untilAborted(stream: Readable, { abort_signal }: ExecParams): Readable {
  return abort_signal === undefined ? stream : addAbortSignal(abort_signal, stream);
}

/**
 * The end to read from, and an end to write to that nobody writes to: as long as it is held the
 * reader sees no end, although the engine may not have opened the pipe yet, or may have broken off.
 */
type Ends = { read: number; hold: number };

/**
 * Undefined when this process has no such pipe: it is gone because the query has failed, or the
 * store lives in a file system of its own.
 */
function openEnds(path: string): Ends | undefined {
  let hold: number | undefined;
  try {
    const found = lstatSync(path);
    if (!found.isFIFO() || found.uid !== process.getuid?.()) return undefined;
    // For both directions, so that it does not wait for anybody.
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

/** The bytes of a pipe, in lent blocks. */
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
