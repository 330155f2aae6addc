import { PassThrough, Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import type { Engine } from '../../../engine/exports/engine.ts';
import { listDeliveries } from '../../../engine/exports/verification/deliveries.ts';
import type { DeliveryRange, Position } from '../../../engine/exports/verification/deliveries.ts';
import { readmeOf } from './readme.ts';

/** Receipts read from the control store at a time. */
const page_receipts = 50;

/**
 * Returns the receipts of a range as a zip file, newest first, with the public key and a text that
 * says how to check one. Memory is bounded: it reads a receipt after the ones before were sent. If
 * a receipt cannot be read, the stream breaks off, so that nobody takes a part for the complete
 * file.
 */
export function zipReceipts(engine: Engine, range: DeliveryRange & { name: string }): Readable {
  const zip = new ZipFile();
  const answer = new PassThrough();
  zip.outputStream.pipe(answer);
  zip.outputStream.on('error', (error) => answer.destroy(error));
  fill(engine, range, zip, answer).catch((error: unknown) => {
    if (answer.destroyed) return;
    engine.log.warn({ err: error, batch_export_id: range.id }, 'receipts could not be sent');
    answer.destroy(error instanceof Error ? error : new Error('receipts could not be sent'));
  });
  return answer;
}

async function fill(
  engine: Engine,
  range: DeliveryRange & { name: string },
  zip: ZipFile,
  answer: PassThrough,
): Promise<void> {
  const gone = new AbortController();
  answer.once('close', () => gone.abort());
  const { public_key } = engine.secrets;
  await add(zip, gone.signal, 'README.txt', readmeOf(range));
  await add(zip, gone.signal, 'public_key.txt', `${public_key}\n`);
  let after: Position | null = null;
  for (;;) {
    const runs = await listDeliveries(engine.db, range, { after, limit: page_receipts });
    for (const { delivery_id, data_interval_start, receipt } of runs) {
      const day = data_interval_start.slice(0, 10);
      const time = data_interval_start.slice(11, 19).replaceAll(':', '');
      await add(zip, gone.signal, `receipts/${day}/${time}-${delivery_id}.receipt.json`, receipt);
    }
    if (runs.length < page_receipts) break;
    after = runs.at(-1)!;
  }
  zip.end();
}

/** Adds a file and waits until it was sent; rejects if the client has gone. */
async function add(zip: ZipFile, gone: AbortSignal, name: string, text: string): Promise<void> {
  const content = Readable.from([Buffer.from(text)], { objectMode: false });
  zip.addReadStream(content, name);
  await finished(content, { signal: gone });
}
