import type { FastifyReply, FastifyRequest } from 'fastify';
import { appendActivity, lockChain, server_actor } from '../activity/chain.ts';
import type { Activity, Actor, Chain, NextPlace } from '../activity/chain.ts';
import { repeated } from '../postgres/repeated.ts';
import type { Transaction } from '../postgres/database.ts';
import type { Caller } from './caller/access.ts';
import { refuseAgent } from './caller/agent.ts';
import { confirmAccess } from './confirm_access.ts';
import { apiErrorOf } from './error_handler.ts';
import { etagOf } from './etag.ts';
import { innerCall } from './inner/inner_call.ts';
import { keepAnswer } from './idempotency.ts';
import { inWriteTurn, ownerOf } from './limits/owner_turns.ts';
import { isValidateOnly } from './lists/query.ts';
import { ignoredHeaders, settleReadOnly } from './unknown/unknown_in_request.ts';

/**
 * An effect outside the control store (a mail, a signal to a worker) that runs once the change is
 * committed; a fault is logged and does not undo the change.
 */
export type Effect = () => Promise<unknown>;

/**
 * Defers an effect until the transaction is committed; it never runs after a rollback or with
 * `validate_only`.
 */
export type Afterwards = (effect: Effect) => void;

/**
 * The entry of a write in the activity log: by default of the path's organization, with the caller
 * as the actor. `also`: further affected logs, always in the same order.
 */
export type Entry = Activity & {
  chain?: Chain;
  also?: Chain[];
  actor?: Pick<Caller, 'user_id' | 'user_uuid' | 'email'> &
    Partial<Pick<Caller, 'key_id' | 'key_mask'>>;
};

/**
 * Records what the write did. Every successful `work` calls it exactly once, with `nothing` if it
 * only read (a dry run). A PATCH or PUT also passes the record from `before`: it is the answer if
 * the entry has no changes.
 */
export type RecordActivity = {
  (entry: Entry | 'nothing', before?: unknown): void;
  /**
   * Locks the end of the organization's log together with the last statement, which must be the
   * last lock of the work. It saves a round trip for a write with one entry there.
   */
  soon(): void;
};

/** Carries the finished answer out of a transaction that must be rolled back. */
class NothingKept extends Error {
  readonly answer: unknown;
  constructor(answer: unknown) {
    super('Nothing is kept.');
    this.answer = answer;
  }
}

/**
 * Every change of the API uses this function. `work` finds, refuses and changes in one transaction
 * and returns the answer's body, undefined for 204. Guarantees:
 * - the caller is a member with the route's level until the transaction ends: a concurrent removal
 *   or demotion waits for it, or stops it;
 * - the activity log gets exactly one entry, in the same transaction; a `work` that records none or
 *   two is a bug and changes nothing;
 * - an agent changes nothing if the organization forbids it, but may still do a dry run;
 * - sent fields that only the server sets are reported, or refused with nothing changed;
 * - a PATCH or PUT whose entry has no changes is rolled back: no entry, no effect, and the ETag and
 *   instants stay;
 * - with `?validate_only=true`, everything is checked and nothing stored: 200 with the body of a
 *   real request, or 204;
 * - with an `Idempotency-Key`, the change and its answer are committed together, so that a repeat
 *   after a crash cannot apply it twice;
 * - writes of one organization use at most three connections, however long they wait for each
 *   other;
 * - a deadlock or serialization failure is retried up to three times, so `work` may only act on
 *   `tx` and through `afterwards` and `record`;
 * - an inner request is a part of its caller's transaction: membership, effects and retries are the
 *   caller's.
 */
export function write<Answer>(
  request: FastifyRequest,
  reply: FastifyReply,
  status: 200 | 201 | 202 | 204,
  work: (tx: Transaction, record: RecordActivity, afterwards: Afterwards) => Promise<Answer>,
): Promise<Answer | FastifyReply> {
  return writeFound(
    request,
    reply,
    status,
    async () => undefined,
    (_, ...given) => work(...given),
  );
}

/**
 * Runs `write` for work that begins with the result of `ahead`. That statement is sent together
 * with the check of the caller and comes after it in every order: of locks, of snapshots and of
 * refusals. It only reads and locks.
 */
export async function writeFound<Found, Answer>(
  request: FastifyRequest,
  reply: FastifyReply,
  status: 200 | 201 | 202 | 204,
  ahead: (tx: Transaction) => Promise<Found>,
  work: (
    found: Found,
    tx: Transaction,
    record: RecordActivity,
    afterwards: Afterwards,
  ) => Promise<Answer>,
): Promise<Answer | FastifyReply> {
  const { db, log } = request.server.context;
  const inner = innerCall();
  const is_validate_only = isValidateOnly(request);
  let effects: Effect[] = [];
  const inTransaction = () =>
    db.transaction(async (tx) => {
      effects = [];
      // Waits for both, because no statement may follow the end of the transaction.
      const [confirmed, finding] = await Promise.allSettled([
        inner === undefined ? confirmAccess(tx, request) : false,
        (async () => ahead(tx))(),
      ]);
      if (confirmed.status === 'rejected') throw confirmed.reason;
      if (finding.status === 'rejected') throw finding.reason;
      const is_closed = confirmed.value;
      const record = openRecord(request, tx);
      const answer = await work(finding.value, tx, record, (effect) => void effects.push(effect));
      return keepWrite(request, tx, { status, answer, is_validate_only, is_closed, record });
    });
  let answer: Answer;
  try {
    answer = await (inner === undefined
      ? inWriteTurn(ownerOf(request), () => repeated(inTransaction))
      : inTransaction());
  } catch (error) {
    if (!(error instanceof NothingKept)) {
      if (inner !== undefined && apiErrorOf(error).status >= 500)
        inner.fault = error instanceof Error ? error : new Error(String(error));
      throw error;
    }
    return respond(reply, status === 204 ? 204 : 200, error.answer as Answer);
  }
  if (request.idempotency !== undefined)
    Object.assign(request.idempotency, { stored: true, taken: true });
  if (inner !== undefined) {
    for (const effect of effects) inner.afterwards(effect);
    return respond(reply, status, answer);
  }
  for (const effect of effects) {
    await effect().catch((error: unknown) =>
      log.error(
        { err: error, request_id: request.id },
        'an effect after a committed change failed',
      ),
    );
  }
  return respond(reply, status, answer);
}

type Recorded = { entry: Entry | 'nothing'; before: unknown };
type OpenRecord = RecordActivity & { entries: Recorded[]; place?: Promise<NextPlace> };

function openRecord(request: FastifyRequest, tx: Transaction): OpenRecord {
  const entries: Recorded[] = [];
  const record: OpenRecord = Object.assign(
    (entry: Entry | 'nothing', before?: unknown) => void entries.push({ entry, before }),
    {
      entries,
      soon: () => {
        const { organization_id } = request.access;
        record.place = lockChain(tx, request.server.context.secrets, { organization_id });
        // It fails together with the earlier statements, whose error the work gets.
        record.place.catch(() => undefined);
      },
    },
  );
  return record;
}

/** Stores the answer and the one entry of successful work; throws if nothing may be stored. */
async function keepWrite<Answer>(
  request: FastifyRequest,
  tx: Transaction,
  done: {
    status: number;
    answer: Answer;
    is_validate_only: boolean;
    is_closed: boolean;
    record: OpenRecord;
  },
): Promise<Answer> {
  const { answer, record, is_validate_only } = done;
  const inner = innerCall();
  const { entry, before } = onlyOne(request, record.entries);
  if (inner !== undefined) inner.changes = entry === 'nothing' ? [] : entry.changes;
  settleReadOnly(request, [before, answer]);
  if (changesNothing(request, entry)) throw new NothingKept(before ?? answer);
  if (!is_validate_only) keepUnderKey(request, tx, done.status, answer);
  await keepEntry(request, tx, entry, done);
  if (is_validate_only) throw new NothingKept(answer);
  return answer;
}

function onlyOne(request: FastifyRequest, entries: Recorded[]): Recorded {
  const [one] = entries;
  if (one === undefined || entries.length > 1)
    throw new Error(
      `${request.method} ${request.routeOptions.url} recorded ${entries.length} activities ` +
        'instead of one.',
    );
  return one;
}

function changesNothing({ method }: FastifyRequest, entry: Entry | 'nothing'): boolean {
  return (
    (method === 'PATCH' || method === 'PUT') && entry !== 'nothing' && entry.changes.length === 0
  );
}

async function keepEntry(
  request: FastifyRequest,
  tx: Transaction,
  entry: Entry | 'nothing',
  { is_closed, record: { place } }: { is_closed: boolean; record: OpenRecord },
): Promise<void> {
  const inner = innerCall();
  if (entry === 'nothing' || inner?.lacks !== undefined) return;
  const {
    chain = { organization_id: request.access.organization_id },
    also = [],
    actor,
    ...activity
  } = inner === undefined ? entry : { ...entry, changes: [...entry.changes, ...inner.also] };
  if (place !== undefined && (also.length > 0 || entry.chain !== undefined))
    throw new Error(`${request.method} ${request.routeOptions.url} locked another log too soon.`);
  await refuseAgent(tx, request, is_closed, [...also, chain]);
  const { secrets } = request.server.context;
  for (const one of [...also, chain])
    await appendActivity(tx, secrets, one, actorOf(request, actor), activity, place);
}

/**
 * Returns the actor for the log: the caller, or on a public route the person or link that was
 * found.
 */
export function actorOf(request: FastifyRequest, person: Entry['actor']): Actor {
  const caller = request.caller as Caller | undefined;
  const { user_id = null, user_uuid = null, email = null } = person ?? caller ?? {};
  const { key_id = null, key_mask = null } = caller ?? person ?? {};
  const session_id = caller?.session_id ?? null;
  return {
    ...server_actor,
    user_id,
    user_uuid,
    user_email: email,
    key_id,
    key_mask,
    session_id,
    ip: request.ip,
    request_id: request.id,
  };
}

function respond<Answer>(
  reply: FastifyReply,
  status: number,
  answer: Answer,
): Answer | FastifyReply {
  void reply.code(status);
  return status === 204 ? reply.send() : answer;
}

function keepUnderKey(
  request: FastifyRequest,
  tx: Transaction,
  status: number,
  answer: unknown,
): void {
  if (request.idempotency === undefined) return;
  const text = status === 204 ? null : JSON.stringify(answer);
  const headers = ignoredHeaders(request);
  if (text !== null) headers['content-type'] = 'application/json; charset=utf-8';
  if (text !== null) headers['etag'] = etagOf(text);
  keepAnswer(tx, request.server.context, request.idempotency, { status, headers, text });
}
