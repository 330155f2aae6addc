import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { keepAnswer, keepRefusal, takeKey } from '../../engine/model/lake_catalog/answers.ts';
import type { Answered, Keyed } from '../../engine/model/lake_catalog/answers.ts';
import { LakeRefused, badRequest } from '../../engine/model/lake_catalog/refusal.ts';
import { rawBody } from '../../platform/http/bodies/body.ts';
import { write } from '../../platform/http/write.ts';
import type { Afterwards, RecordActivity } from '../../platform/http/write.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { errorText } from './refusal.ts';

/** Sends the table with the id, in the form of a load. */
export type SendTable = (
  request: FastifyRequest,
  reply: FastifyReply,
  id: string,
) => Promise<unknown>;

const uuid_v7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;

/**
 * Runs a change of the catalog, like `write`. With an `Idempotency-Key`, the answer is stored in
 * the transaction of the change. A repeat waits for the first request and gets its answer, also a
 * final refusal. A table is answered in its current state.
 */
export async function changeLake(
  { deps, sendTable }: { deps: Pick<Deps, 'db'>; sendTable: SendTable },
  request: FastifyRequest,
  reply: FastifyReply,
  work: (tx: Transaction, record: RecordActivity, afterwards: Afterwards) => Promise<Answered>,
): Promise<unknown> {
  const keyed = keyOf(request);
  let is_repeat = false;
  const inTransaction: typeof work = async (tx, record, afterwards) => {
    const earlier = keyed && (await takeKey(tx, keyed));
    is_repeat = earlier !== undefined;
    if (earlier !== undefined) {
      record('nothing');
      return earlier;
    }
    const answered = await work(tx, record, afterwards);
    if (keyed !== undefined) await keepAnswer(tx, keyed, answered);
    return answered;
  };
  let answered: Answered;
  try {
    answered = await answeredBy(write(request, reply, 200, inTransaction));
  } catch (error) {
    if (keyed !== undefined && error instanceof LakeRefused && error.status !== 422)
      await keepRefusal(deps.db, keyed, {
        status: error.status,
        answer: errorText(error.status, error.type, error.message),
      });
    throw error;
  }
  if (is_repeat) void reply.header('idempotent-replayed', 'true');
  const { status, answer, table_id } = answered;
  if (table_id !== null) return sendTable(request, reply, table_id);
  void reply.code(status);
  return answer === null ? reply.send() : reply.type('application/json').send(answer);
}

/** Sends the answer of a change; for 200, `write` sends nothing. */
const answeredBy = (writing: Promise<Answered | FastifyReply>) => writing as Promise<Answered>;

/** Returns an answer with a body, which a repeat gets too. */
export function answerOf(body: unknown): Answered {
  return { status: 200, answer: JSON.stringify(body), table_id: null };
}

/** An answer without a body. */
export const no_content: Answered = { status: 204, answer: null, table_id: null };

/**
 * Returns the key of the request, and what a repeat must have in common with it; undefined without
 * a key.
 */
function keyOf(request: FastifyRequest): Keyed | undefined {
  const key = request.headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (typeof key !== 'string' || !uuid_v7.test(key))
    throw badRequest('The header Idempotency-Key must be a UUID of version 7.');
  const { user_id, key_id, scopes } = request.caller;
  const asked = [request.method, request.url, user_id ?? key_id, scopes.toSorted().join(' ')];
  const request_hash = createHash('sha256')
    .update(JSON.stringify(asked))
    .update(rawBody(request) ?? '')
    .digest();
  return { team_id: request.access.team_id!, key, request_hash };
}
