import { once } from 'node:events';
import type { Socket } from 'node:net';
import { literal } from '../../clickhouse/quote.ts';
import { faultOf } from './session.ts';
import { openWriter } from './pipes.ts';
import { stopOperation } from './read.ts';
import type { Operation, Outcome } from './read.ts';

/**
 * An INSERT whose data arrive as a stream: the statement before and after its format, and the data.
 */
export type Insert = {
  before: string;
  after: string;
  format: string;
  data: AsyncIterable<Uint8Array>;
};

/**
 * Streams the data of an INSERT from the request into the engine with back-pressure, in any input
 * format. Guarantee: success is reported only when the engine has stored everything. If the data
 * break off (the client disconnects), the insert is stopped before the engine can mistake the end
 * of the pipe for the end of the data.
 */
export async function streamInsert(operation: Operation, insert: Insert): Promise<Outcome> {
  const { engine, pipe, preamble } = operation;
  let over = false;
  let outcome: Outcome = {};
  const settled = (async () => {
    try {
      const rows = await engine.insert(
        `${preamble}${insert.before}\nFROM INFILE ${literal(pipe)} COMPRESSION 'none' ` +
          `${insert.after} FORMAT ${insert.format}`,
      );
      outcome = { rows };
    } catch (error) {
      outcome = { fault: faultOf(error) };
    } finally {
      over = true;
    }
  })();
  // Once the data are complete, a client that disconnects stops the insert like a query.
  const leave = (): void => {
    void stopOperation(operation, () => over);
  };
  operation.gone.addEventListener('abort', leave, { once: true });
  const writer = await openWriter(pipe, () => over);
  if (writer) {
    writer.on('error', () => {});
    void settled.then(() => writer.destroy());
    if (await copy(insert.data, writer)) writer.end();
    else if (!over) await stopOperation(operation, () => over).then(() => writer.destroy());
  }
  await settled;
  operation.gone.removeEventListener('abort', leave);
  return outcome;
}

/**
 * Returns true if everything was read and written, or the engine needs no more; false if the data
 * broke off.
 */
async function copy(data: AsyncIterable<Uint8Array>, writer: Socket): Promise<boolean> {
  // Created once and not for each chunk: the listener stays until the end.
  const closed = once(writer, 'close');
  closed.catch(() => {});
  try {
    for await (const chunk of data) {
      if (writer.destroyed) return true;
      if (!writer.write(chunk)) await Promise.race([once(writer, 'drain'), closed]);
    }
    return true;
  } catch {
    return writer.destroyed;
  }
}
