import type { Readable } from 'node:stream';
import { Agent, request } from 'undici';

/** The number of lines in a request of our client, by default. */
const lines_max = 5_000;

/**
 * Posts the lines of a stream, 5,000 at a time and one request after another, without a digest, an
 * idempotency key or retries.
 */
export async function postLines(stream: Readable, url: string): Promise<void> {
  const dispatcher = new Agent({ connections: 1 });
  let held: Buffer[] = [];
  let lines = 0;
  const post = async () => {
    const answer = await request(url, { dispatcher, method: 'POST', body: Buffer.concat(held) });
    await answer.body.dump();
    if (answer.statusCode !== 200) throw new Error(`The taker answered ${answer.statusCode}.`);
    held = [];
    lines = 0;
  };
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    let from = 0;
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) {
      lines += 1;
      if (lines < lines_max) continue;
      held.push(chunk.subarray(from, at + 1));
      from = at + 1;
      await post();
    }
    held.push(chunk.subarray(from));
  }
  if (lines > 0) await post();
  await dispatcher.close();
}
