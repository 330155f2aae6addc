import type { ServerResponse } from 'node:http';
import { literal } from '../../clickhouse/quote.ts';
import { faultOf } from './session.ts';
import type { Engine, Fault } from './session.ts';
import { openReader, touchReader } from './pipes.ts';

/**
 * One request in the engine: its own pipe, the settings before its statement, and a signal that the
 * client has disconnected.
 */
export type Operation = {
  engine: Engine;
  pipe: string;
  /** Statements that run first in the same session: parameters, settings, database. */
  preamble: string;
  label: string;
  /** True if the columns of a SELECT have types that every format supports. */
  is_plain: boolean;
  /** Aborted when the client has disconnected. */
  gone: AbortSignal;
};

/**
 * The end of an operation; `rows` counts those of an INSERT. After `stuck`, the engine never
 * answers this operation: one of its threads is lost.
 */
export type Outcome = { fault?: Fault; stuck?: boolean; rows?: number };

// Nothing is sent until this much has come, or the end: an early error then has its own status, and
// a small answer is one packet.
const heldBytesMax = 64 * 1024;
const stuckMs = 20_000;
/** Time limit for a stopped query to end before its thread counts as lost. */
export const stuckKilledMs = 60_000;

// The engine hangs for ever if a format refuses the columns of an INTO OUTFILE. These support all
// columns; others are first tried over no rows.
const easyFormats =
  /^(JSON\w*|TSV\w*|TabSeparated\w*|CSV\w*|RowBinary\w*|Native|Arrow|ArrowStream|Values|LineAsString|RawBLOB|Pretty\w*|Vertical|XML|Markdown|Null)$/i;

const stuckFault: Fault = {
  code: 1000,
  status: 500,
  text:
    'Code: 1000. DB::Exception: The engine could not set up the format for these columns. ' +
    '(UNKNOWN_EXCEPTION)',
};

const killPauseMs = { least: 10, most: 250 };

/**
 * Stops the query under the operation's label. Resolves when the engine has confirmed, or when the
 * operation has ended. It repeats the request until then: a new query is not in the engine's list
 * yet, and an engine short of memory refuses this request too.
 */
export async function stopOperation(
  { engine, label }: Operation,
  isOver: () => boolean,
): Promise<void> {
  for (let ms = killPauseMs.least; !isOver(); ms = Math.min(2 * ms, killPauseMs.most)) {
    if (await engine.kill(label).catch(() => false)) return;
    await new Promise((done) => setTimeout(done, ms));
  }
}

/** A SELECT, split at its FORMAT clause. */
export type Read = { before: string; format: string; after: string };

/** Rejects with the engine's error if the format does not support the statement. */
export async function tryFormat(
  { engine, preamble, is_plain }: Operation,
  { before, format, after }: Read,
): Promise<void> {
  if (!is_plain && !easyFormats.test(format))
    await engine.run(`${preamble}SELECT * FROM (\n${before}\n) LIMIT 0 FORMAT ${format}${after}`);
}

/** Returns the statement that writes the result of a SELECT into the pipe of the operation. */
export const intoPipe = ({ preamble, pipe }: Operation, { before, format, after }: Read): string =>
  `${preamble}${before}\nINTO OUTFILE ${literal(pipe)} TRUNCATE FORMAT ${format}${after}`;

/**
 * Streams the result of a SELECT, one valid document of its format, into the response with
 * back-pressure, in bounded memory. Guarantee: the response ends cleanly only when the engine has
 * reported success. An error before the first byte is returned as the outcome; a later one breaks
 * the connection. If the client disconnects, the query is stopped.
 */
export async function streamResult(
  operation: Operation,
  read: Read,
  response: ServerResponse,
): Promise<Outcome> {
  const { engine, pipe, gone } = operation;
  try {
    await tryFormat(operation, read);
  } catch (error) {
    return { fault: faultOf(error) };
  }
  if (gone.aborted) return {};
  const reader = openReader(pipe);
  const closed = new Promise<void>((resolve) => {
    reader.once('close', () => resolve());
  });
  reader.on('error', () => {});
  let failure: Fault | undefined;
  let isOver = false;
  const settled = engine.run(intoPipe(operation, read)).then(
    () => {
      isOver = true;
      return touchReader(pipe);
    },
    (error) => {
      isOver = true;
      failure = faultOf(error);
      reader.destroy();
    },
  );
  // The query is stopped first: closing the reader does not stop it. Remaining output is read and
  // discarded, because a query that waits for its reader ignores a kill, or has already left the
  // engine's list of queries.
  const leave = (): void => {
    reader.resume();
    void stopOperation(operation, () => isOver).then(() => reader.destroy());
  };
  gone.addEventListener('abort', leave, { once: true });
  const held = forward(reader, response);
  const stuck = await Promise.race([
    settled.then(() => closed).then(() => false),
    closed.then(() => isLate(settled, gone.aborted ? stuckKilledMs : stuckMs)),
  ]);
  gone.removeEventListener('abort', leave);
  if (gone.aborted) return { stuck };
  if (stuck) failure = stuckFault;
  if (failure && response.headersSent) response.destroy();
  else if (!failure) finish(response, held());
  return { fault: failure, stuck };
}

/** Returns true if `settled` has not settled after this many milliseconds. */
export async function isLate(settled: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(true), ms);
  });
  const result = await Promise.race([settled.then(() => false), late]);
  clearTimeout(timer);
  return result;
}

function finish(response: ServerResponse, held: Buffer[]): void {
  const rest = Buffer.concat(held);
  if (!response.headersSent) response.setHeader('Content-Length', rest.length);
  // In one call: text written between cork() and end() would follow the end of a chunked answer.
  response.end(rest);
}

/** Forwards the reader's output; returns a function that returns the held-back part. */
function forward(reader: ReturnType<typeof openReader>, response: ServerResponse): () => Buffer[] {
  let held: Buffer[] = [];
  let heldBytes = 0;
  const resume = (): void => {
    reader.resume();
  };
  reader.on('data', (chunk: Buffer) => {
    if (response.destroyed) return;
    held.push(chunk);
    heldBytes += chunk.length;
    if (heldBytes < heldBytesMax) return;
    const [first] = held;
    const whole = held.length === 1 && first ? first : Buffer.concat(held, heldBytes);
    held = [];
    heldBytes = 0;
    if (!response.write(whole)) reader.pause();
  });
  response.on('drain', resume);
  return () => held;
}
