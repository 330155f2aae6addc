import type { FastifyReply, FastifyRequest } from 'fastify';
import sql from 'sql-template-tag';
import { appendActivity, server_actor } from '../activity/chain.ts';
import type { Activity, Actor, Chain } from '../activity/chain.ts';
import { isoInstant } from '../clock.ts';
import { repeated } from '../postgres/repeated.ts';
import type { Transaction } from '../postgres/database.ts';
import type { Access, Caller } from './caller/access.ts';
import { isClosedToAgent, refuseAgent } from './caller/agent.ts';
import { apiErrorOf } from './error_handler.ts';
import { notFound, secondFactorRequired, unauthenticated } from './errors.ts';
import { etagOf } from './etag.ts';
import { requireLevel } from './caller/guard.ts';
import { innerCall } from './inner_call.ts';
import { storeAnswer } from './idempotency.ts';
import { isValidateOnly } from './lists/query.ts';
import { isOpenTo } from './caller/second_factor.ts';

/**
 * Something outside of the control store (a mail, a signal to a worker) that is done once the
 * change is committed; a fault is logged and does not undo the change.
 */
export type Effect = () => Promise<unknown>;

/**
 * Puts off an effect until the transaction is committed; nothing is done when it is rolled back or
 * was `validate_only`.
 */
export type Afterwards = (effect: Effect) => void;

/**
 * What the activity log keeps of a write. By default it goes to the organization of the path and
 * was done by the caller. `also`: other logs that it concerns, in one order everywhere.
 */
export type Entry = Activity & {
  chain?: Chain;
  also?: Chain[];
  actor?: Pick<Caller, 'user_id' | 'user_uuid' | 'email'>;
};

/**
 * Says what the write did; called exactly once by every `work` that succeeds, with `nothing` when
 * it only looked (a dry run). A PATCH or PUT gives the record from `before` too: it is the answer
 * when the entry names no change.
 */
export type RecordActivity = (entry: Entry | 'nothing', before?: unknown) => void;

/** Carries the finished answer out of a transaction that must leave nothing behind. */
class NothingKept extends Error {
  readonly answer: unknown;
  constructor(answer: unknown) {
    super('Nothing is kept.');
    this.answer = answer;
  }
}

/**
 * Every change of the API goes through here. `work` finds, refuses and changes in one transaction
 * and gives the answer's body, undefined for 204. Guarantees:
 * - the caller is a member with the route's level until the transaction ends: a removal or demotion
 *   that races waits for it, or stops it;
 * - the activity log gets exactly one entry, in the same transaction; a `work` that records none or
 *   two is a fault of ours and changes nothing;
 * - an agent changes nothing where the organization forbids it, and may look (a dry run) all the
 *   same;
 * - a PATCH or PUT whose entry names no change is rolled back: no entry, no effect, ETag and
 *   instants as they were;
 * - with `?validate_only=true` everything is checked and nothing kept: 200 with the body that would
 *   have come, or 204;
 * - with an `Idempotency-Key` the change and its answer are committed together, so a crash between
 *   them cannot make a repeat do it twice;
 * - a deadlock or serialization failure is repeated, up to three times, so `work` must have no
 *   effect but on `tx` and through `afterwards` and `record`;
 * - an inner request is a part of its caller's transaction: membership, effects and repetition are
 *   the caller's.
 */
export async function write<Answer>(
  request: FastifyRequest,
  reply: FastifyReply,
  status: 200 | 201 | 202 | 204,
  work: (tx: Transaction, record: RecordActivity, afterwards: Afterwards) => Promise<Answer>,
): Promise<Answer | FastifyReply> {
  const { db, log } = request.server.context;
  const inner = innerCall();
  const validateOnly = isValidateOnly(request);
  let effects: Effect[] = [];
  const inTransaction = () =>
    db.transaction(async (tx) => {
      effects = [];
      const entries: Recorded[] = [];
      const is_closed = inner === undefined && (await confirmAccess(tx, request));
      const answer = await work(
        tx,
        (entry, before) => entries.push({ entry, before }),
        (effect) => effects.push(effect),
      );
      const { entry, before } = onlyOne(request, entries);
      if (inner !== undefined) inner.changes = entry === 'nothing' ? [] : entry.changes;
      if (changesNothing(request, entry)) throw new NothingKept(before ?? answer);
      await Promise.all([
        validateOnly ? undefined : keepAnswer(request, tx, status, answer),
        keepEntry(request, tx, entry, is_closed),
      ]);
      if (validateOnly) throw new NothingKept(answer);
      return answer;
    });
  let answer: Answer;
  try {
    answer = await (inner === undefined ? repeated(inTransaction) : inTransaction());
  } catch (error) {
    if (!(error instanceof NothingKept)) {
      if (inner !== undefined && apiErrorOf(error).status >= 500)
        inner.fault = error instanceof Error ? error : new Error(String(error));
      throw error;
    }
    return respond(reply, status === 204 ? 204 : 200, error.answer as Answer);
  }
  if (request.idempotency !== undefined) request.idempotency.stored = true;
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

type Standing = Pick<Access, 'level'> & {
  is_valid: boolean;
  is_closed: boolean;
  has_project: boolean;
};

/**
 * Holds the caller's membership as it is until the transaction ends (FOR SHARE), and takes over a
 * level that changed since the request came in. Because the request may have waited for a lock, the
 * key or session must still hold, the organization still let them in without a second factor, and
 * the project still be there. Locks go from the organization to the member, everywhere. Gives
 * whether the organization is closed to the agent that asks.
 */
async function confirmAccess(tx: Transaction, request: FastifyRequest): Promise<boolean> {
  const { access, caller } = request;
  if (access === undefined) return false;
  const { level: wanted = 1, locks_organization = false } = request.routeOptions.config;
  // All in one go: each statement sees what was committed while the ones before it waited.
  const locked = locks_organization
    ? tx.row(
        sql`SELECT 1 FROM organizations WHERE id = ${access.organization_id}::uuid
          FOR NO KEY UPDATE`,
      )
    : undefined;
  const closing = isClosedToAgent(tx, request, access.organization_id);
  const now = isoInstant(request.server.context.clock.now());
  const credential =
    caller.key_id === null
      ? sql`SELECT 1 FROM sessions c JOIN users u ON u.id = c.user_id AND u.is_active
        WHERE c.id = ${caller.session_id}::uuid AND c.expires_at > ${now}::timestamptz`
      : sql`SELECT 1 FROM personal_api_keys c JOIN users u ON u.id = c.user_id AND u.is_active
          WHERE c.id = ${caller.key_id}::uuid AND (c.expires_at IS NULL
            OR c.expires_at > ${now}::timestamptz)`;
  const holding = tx.row(
    sql`SELECT 1 FROM members m WHERE m.user_id = ${caller.user_id}
      AND m.organization_id = ${access.organization_id}::uuid FOR SHARE`,
  );
  const looking = tx.row<Standing>(sql`
    SELECT m.level, EXISTS (${credential}) AS is_valid, NOT ${isOpenTo(caller)} AS is_closed,
      ${access.team_id ?? null}::integer IS NULL
        OR EXISTS (SELECT 1 FROM projects WHERE id = ${access.team_id ?? null}) AS has_project
    FROM members m WHERE m.user_id = ${caller.user_id}
      AND m.organization_id = ${access.organization_id}::uuid`);
  const [, is_closed, member, standing] = await Promise.all([locked, closing, holding, looking]);
  if (member === undefined) throw notFound();
  if (standing === undefined || !standing.has_project) throw notFound();
  if (!standing.is_valid)
    throw unauthenticated(
      'authentication_failed',
      'The key or session ended while the request waited.',
    );
  if (standing.is_closed) throw secondFactorRequired();
  requireLevel(standing.level, wanted);
  request.access = { ...access, level: standing.level };
  return is_closed;
}

/**
 * Waits until every write under way in the organization has ended, and holds back those that begin
 * until this transaction ends: for what deletes by cascade, which would else take a writer's rows
 * in one order while the writer takes them in the other, until both are told to give way three
 * times. The route must have `locks_organization`, so that two of these cannot wait for each other.
 */
export async function lockOutWriters(tx: Transaction, organization_id: string): Promise<void> {
  await tx.rows(
    sql`SELECT 1 FROM members WHERE organization_id = ${organization_id}::uuid ORDER BY id
      FOR UPDATE`,
  );
}

type Recorded = { entry: Entry | 'nothing'; before: unknown };

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
  is_closed: boolean,
): Promise<void> {
  const inner = innerCall();
  if (entry === 'nothing' || inner?.lacks !== undefined) return;
  const {
    chain = { organization_id: request.access.organization_id },
    also = [],
    actor,
    ...activity
  } = inner === undefined ? entry : { ...entry, changes: [...entry.changes, ...inner.also] };
  await refuseAgent(tx, request, is_closed, [...also, chain]);
  for (const one of [...also, chain])
    await appendActivity(
      tx,
      request.server.context.secrets,
      one,
      actorOf(request, actor),
      activity,
    );
}

/** Who the log names: the caller, or on a public route whom the work found out. */
export function actorOf(request: FastifyRequest, person: Entry['actor']): Actor {
  const caller = request.caller as Caller | undefined;
  const { user_id = null, user_uuid = null, email = null } = person ?? caller ?? {};
  const { key_id = null, key_mask = null, session_id = null } = caller ?? {};
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

async function keepAnswer(
  request: FastifyRequest,
  tx: Transaction,
  status: number,
  answer: unknown,
): Promise<void> {
  if (request.idempotency === undefined) return;
  const { secrets } = request.server.context;
  if (status === 204) return storeAnswer(tx, secrets, request.idempotency, status, {}, null);
  const text = JSON.stringify(answer);
  await storeAnswer(
    tx,
    secrets,
    request.idempotency,
    status,
    { 'content-type': 'application/json; charset=utf-8', etag: etagOf(text) },
    text,
  );
}
