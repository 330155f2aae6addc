import type { FastifyRequest } from 'fastify';
import { moduleBeside } from '../../processes/module_beside.ts';
import { openThread, wholeBuffer } from '../../processes/thread.ts';
import { body_size_bytes_max, rawBody } from './body.ts';
import type { ReadJson } from './json_text.ts';

const memory_mb_max = 512;

/** A request to the thread: read the JSON of a body. */
export type BodyQuestion = { bytes: Uint8Array; values_max: number | undefined };
/** The thread's answer; `refused` is the fault of the body. */
export type BodyReply = { read: ReadJson } | { refused: string };

const thread = openThread<BodyQuestion, BodyReply>(
  moduleBeside(import.meta, 'aside_thread'),
  memory_mb_max,
);

/**
 * Lets a thread read a body of more than 1 MiB, because 20 MiB of text would block the event loop
 * for a tenth of a second. From then on, `readBody` and its callers return the result, or throw.
 * The bytes are no longer usable afterwards.
 */
export async function readAside(request: FastifyRequest): Promise<void> {
  const bytes = rawBody(request);
  if (bytes === undefined || bytes.length <= body_size_bytes_max) return;
  const { values_max } = request.routeOptions.config;
  request.read_aside = await thread.ask({ bytes, values_max }, wholeBuffer(bytes));
}
