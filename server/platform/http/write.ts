import type { FastifyReply, FastifyRequest } from 'fastify';
import { isDatabaseError } from '../postgres/database.ts';
import type { Transaction } from '../postgres/database.ts';
import { etagOf } from './etag.ts';
import { storeAnswer } from './idempotency.ts';
import { isValidateOnly } from './query.ts';

/** Something outside of the control store (a mail, a signal to a worker) that is done once the change is committed; a fault is logged and does not undo the change. */
export type Effect = () => Promise<unknown>;

/** Puts off an effect until the transaction is committed; nothing is done when it is rolled back or was `validate_only`. */
export type Afterwards = (effect: Effect) => void;

const attempts_max = 3;

/** Carries the finished answer out of a transaction that must leave nothing behind. */
class ValidatedOnly extends Error {
  readonly answer: unknown;
  constructor(answer: unknown) {
    super('validate_only');
    this.answer = answer;
  }
}

/**
 * Every change of the API goes through here. `work` finds, refuses and changes in one transaction and gives the answer's body, undefined for 204. Guarantees:
 * - with `?validate_only=true` everything is checked and nothing kept: 200 with the body that would have come, or 204;
 * - with an `Idempotency-Key` the change and its answer are committed together, so a crash between them cannot make a repeat do it twice;
 * - a deadlock or serialization failure is repeated, up to three times, so `work` must have no effect but on `tx` and through `afterwards`.
 */
export async function write<Answer>(
  request: FastifyRequest,
  reply: FastifyReply,
  status: 200 | 201 | 202 | 204,
  work: (tx: Transaction, afterwards: Afterwards) => Promise<Answer>,
): Promise<Answer | FastifyReply> {
  const { db, log } = request.server.context;
  const validateOnly = isValidateOnly(request);
  let effects: Effect[] = [];
  const inTransaction = () =>
    db.transaction(async (tx) => {
      effects = [];
      const answer = await work(tx, (effect) => effects.push(effect));
      if (validateOnly) throw new ValidatedOnly(answer);
      await keepAnswer(request, tx, status, answer);
      return answer;
    });
  let answer: Answer;
  try {
    answer = await repeated(inTransaction);
  } catch (error) {
    if (!(error instanceof ValidatedOnly)) throw error;
    return respond(reply, status === 204 ? 204 : 200, error.answer as Answer);
  }
  if (request.idempotency !== undefined) request.idempotency.stored = true;
  for (const effect of effects) {
    await effect().catch((error: unknown) => log.error({ err: error, request_id: request.id }, 'an effect after a committed change failed'));
  }
  return respond(reply, status, answer);
}

function respond<Answer>(reply: FastifyReply, status: number, answer: Answer): Answer | FastifyReply {
  void reply.code(status);
  return status === 204 ? reply.send() : answer;
}

async function keepAnswer(request: FastifyRequest, tx: Transaction, status: number, answer: unknown): Promise<void> {
  if (request.idempotency === undefined) return;
  if (status === 204) return storeAnswer(tx, request.idempotency, status, {}, null);
  const text = JSON.stringify(answer);
  await storeAnswer(tx, request.idempotency, status, { 'content-type': 'application/json; charset=utf-8', etag: etagOf(text) }, text);
}

async function repeated<Answer>(attempt: () => Promise<Answer>): Promise<Answer> {
  for (let number = 1; ; number += 1) {
    try {
      return await attempt();
    } catch (error) {
      const mayPass = isDatabaseError(error) && (error.code === '40P01' || error.code === '40001');
      if (!mayPass || number === attempts_max) throw error;
    }
  }
}
