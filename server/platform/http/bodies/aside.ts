import type { FastifyRequest } from 'fastify';
import { moduleBeside } from '../../processes/module_beside.ts';
import { openThread, wholeBuffer } from '../../processes/thread.ts';
import { body_size_bytes_max, rawBody } from './body.ts';
import type { ReadJson } from './json_text.ts';

const memory_mb_max = 512;

/** A question to the thread: to read the JSON of a body. */
export type BodyQuestion = { bytes: Uint8Array; values_max: number | undefined };
/** The thread's answer; `refused` says what is wrong with the body. */
export type BodyReply = { read: ReadJson } | { refused: string };

const thread = openThread<BodyQuestion, BodyReply>(
  moduleBeside(import.meta, 'aside_thread'),
  memory_mb_max,
);

/**
 * Has a body of more than 1 MiB read beside the event loop, which 20 MiB of text would hold for a
 * tenth of a second; `readBody` and what stands on it give what was read, or throw, from then on.
 * The bytes are gone afterwards.
 */
export async function readAside(request: FastifyRequest): Promise<void> {
  const bytes = rawBody(request);
  if (bytes === undefined || bytes.length <= body_size_bytes_max) return;
  const { values_max } = request.routeOptions.config;
  request.read_aside = await thread.ask({ bytes, values_max }, wholeBuffer(bytes));
}
