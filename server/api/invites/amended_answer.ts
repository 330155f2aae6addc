import type { FastifyRequest } from 'fastify';
import { etagOf } from '../../platform/http/etag.ts';
import { storeAnswer } from '../../platform/http/idempotency.ts';
import type { Afterwards } from '../../platform/http/write.ts';

/**
 * Once the write is committed, `amend` does what lies outside of it, and what it gives replaces
 * those fields of the answer, also of the one that is kept under the `Idempotency-Key`. A crash or
 * a fault in between leaves the answer as it was committed.
 */
export function amendAfterwards<Answer extends object>(
  request: FastifyRequest,
  status: 200 | 201,
  afterwards: Afterwards,
  answer: Answer,
  amend: () => Promise<Partial<Answer>>,
): void {
  afterwards(async () => {
    // `write` sends this very object when the effects are done.
    Object.assign(answer, await amend());
    if (request.idempotency === undefined) return;
    const { db, secrets } = request.server.context;
    const text = JSON.stringify(answer);
    const headers = { 'content-type': 'application/json; charset=utf-8', etag: etagOf(text) };
    await storeAnswer(db, secrets, request.idempotency, { status, headers, text });
  });
}
