import type { ServerResponse } from 'node:http';
import { pipe_header } from '../../clickhouse/answer.ts';
import { openReader } from './pipes.ts';
import { intoPipe, isLate, stopOperation, stuckKilledMs, tryFormat } from './read.ts';
import type { Operation, Outcome, Read } from './read.ts';
import { faultOf } from './session.ts';
import type { Fault } from './session.ts';

/**
 * Sends the result of a SELECT into the pipe, which the client reads directly, and names it in the
 * answer's head. Guarantee: the answer's body ends, empty, only when the engine has reported
 * success. An error before the pipe is named is returned as the outcome; a later one is also sent
 * as the body. If the client disconnects, the query is stopped. The pipe belongs to the client
 * until it has read to the end, so it must not be reused.
 */
export async function streamThroughPipe(
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
  response.setHeader(pipe_header, pipe);
  response.flushHeaders();
  let isOver = false;
  const settled = engine
    .run(intoPipe(operation, read))
    .then(
      () => undefined,
      (error: unknown) => faultOf(error),
    )
    .finally(() => {
      isOver = true;
    });
  const left = new Promise<void>((resolve) => {
    gone.addEventListener('abort', () => resolve(), { once: true });
  });
  const isLeft = await Promise.race([settled.then(() => false), left.then(() => true)]);
  if (isLeft) return { stuck: await stop(operation, settled, () => isOver) };
  const fault = await settled;
  if (fault === undefined) response.end();
  return { fault };
}

/**
 * The engine waits for a reader before it notices the stop, and the client may not be reading yet,
 * or no longer.
 */
async function stop(
  operation: Operation,
  settled: Promise<Fault | undefined>,
  isOver: () => boolean,
): Promise<boolean> {
  const reader = openReader(operation.pipe);
  reader.on('error', () => {});
  reader.resume();
  try {
    await stopOperation(operation, isOver);
    return await isLate(settled, stuckKilledMs);
  } finally {
    reader.destroy();
  }
}
