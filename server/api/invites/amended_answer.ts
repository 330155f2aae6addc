import type { FastifyRequest } from 'fastify';
import { etagOf } from '../../platform/http/etag.ts';
import { storeAnswer } from '../../platform/http/idempotency.ts';
import type { Afterwards } from '../../platform/http/write.ts';

/**
 * After the commit of the write, runs `amend`. The fields that it returns replace those in the
 * answer, also in the answer stored under the `Idempotency-Key`. After a crash or an error in
 * between, the answer stays as committed.
 */
export function amendAfterwards<Answer extends object>(
  request: FastifyRequest,
  status: 200 | 201,
  afterwards: Afterwards,
  answer: Answer,
  amend: () => Promise<Partial<Answer>>,
): void {
  afterwards(async () => {
    // `write` sends this object after the effects.
    Object.assign(answer, await amend());
    if (request.idempotency === undefined) return;
    const text = JSON.stringify(answer);
    const headers = { 'content-type': 'application/json; charset=utf-8', etag: etagOf(text) };
    await storeAnswer(request.server.context, request.idempotency, { status, headers, text });
  });
}
