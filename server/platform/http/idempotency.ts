import { createHash, randomUUID } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { isoInstant } from '../clock.ts';
import { isDatabaseError } from '../postgres/database.ts';
import type { Transaction } from '../postgres/database.ts';
import { rawBody } from './bodies/body.ts';
import type { HttpContext } from './context.ts';
import { conflict, idempotencyMismatch, invalid, unauthenticated } from './errors.ts';
import { isValidateOnly } from './lists/query.ts';
import { ignoredHeaders } from './unknown/unknown_in_request.ts';
import type { Claim } from './claim.ts';

/** Time for which an answer is replayed: 24 h. */
export const replay_ms = 24 * 3_600_000;
/** After this time without an answer, a request counts as crashed and its key is free again. */
const lock_ms = 120_000;

type Earlier = {
  body_hash: Buffer;
  status: number | null;
  response_headers: Record<string, string> | null;
  response_sealed: Buffer | null;
  claim_id: string;
};

/**
 * Runs before the handler of a POST. Without `Idempotency-Key`, and for `validate_only`, which has
 * no effect to repeat, it does nothing. Otherwise it claims the key or replays the first answer. It
 * throws 409 while the first request is running and 422 if that was another request. A route with
 * `is_one_write` claims an unknown key with its answer: of two such requests, the later one gets
 * 409 at its end and changes nothing.
 */
export async function claimIdempotencyKey(
  context: HttpContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply | undefined> {
  const key = request.headers['idempotency-key'];
  if (key === undefined || isValidateOnly(request)) return undefined;
  if (typeof key !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(key))
    throw invalid(
      'idempotency_key',
      'invalid_input',
      'The header Idempotency-Key must be 1 to 255 visible ASCII characters.',
    );
  const [path = ''] = request.url.split('?');
  const body_hash = fingerprint(context, request, request.url.slice(path.length));
  const claim: Claim = {
    id: randomUUID(),
    ...ownerOf(request),
    key,
    method: request.method,
    path,
    body_hash,
    taken: false,
    stored: false,
  };
  const isLate = request.routeOptions.config.is_one_write === true;
  let earlier = isLate ? await findEarlier(context, claim) : undefined;
  if (!isLate || earlier?.status === null) {
    claim.taken = await take(context, claim);
    if (!claim.taken) earlier = await findEarlier(context, claim);
  }
  if (claim.taken || (isLate && earlier === undefined)) {
    request.idempotency = claim;
    return undefined;
  }
  if (earlier !== undefined && !earlier.body_hash.equals(body_hash)) throw idempotencyMismatch();
  if (earlier === undefined || earlier.status === null) throw stillRunning();
  return reply
    .code(earlier.status)
    .headers({ ...earlier.response_headers, 'idempotent-replayed': 'true' })
    .send(
      earlier.response_sealed === null
        ? undefined
        : context.secrets.open(earlier.response_sealed, responseContext(earlier.claim_id)),
    );
}

/** Returns the row of the key, unless it is so old that a request may replace it. */
function findEarlier({ db, clock }: HttpContext, claim: Claim): Promise<Earlier | undefined> {
  return db.row<Earlier>(sql`
    SELECT body_hash, status, response_headers, response_sealed, claim_id
    FROM ${placeOf(claim).table}
    WHERE ${isOwned(claim)} AND key = ${claim.key} AND method = ${claim.method}
      AND path = ${claim.path}
      AND created_at > ${isoInstant(clock.now() - replay_ms)}::timestamptz`);
}

function ownerOf({ caller }: FastifyRequest): Pick<Claim, 'user_id' | 'service_key_id'> {
  const { user_id, key_id } = caller;
  return { user_id, service_key_id: user_id === null ? key_id : null };
}

/** Returns the table with the keys of the claim's owner, and its owner column. */
function placeOf({ user_id }: Claim): { table: Sql; owner: Sql } {
  return user_id === null
    ? { table: sql`service_idempotency_keys`, owner: sql`service_key_id` }
    : { table: sql`idempotency_keys`, owner: sql`user_id` };
}

/** Returns a condition on the keys of the claim's owner. */
function isOwned(claim: Claim): Sql {
  return claim.user_id === null
    ? sql`service_key_id = ${claim.service_key_id}::uuid`
    : sql`user_id = ${claim.user_id}`;
}

/** The longest stored answer of a request that changed nothing, in characters. */
const kept_length_max = 1024 * 1024;

type KeptAnswer = { status: number; headers: Record<string, string>; text: string | null };

/**
 * Stores the answer under the claim in the transaction of the change, so that both commit together.
 * The transaction fails with 409 if the claim expired and another request holds the key.
 */
export function keepAnswer(
  tx: Transaction,
  context: HttpContext,
  claim: Claim,
  answer: KeptAnswer,
): void {
  tx.lastly(
    sql`WITH kept AS (${keeping(context, claim, answer)} RETURNING 1)
      SELECT 1 / count(*) FROM kept`,
    (fault) =>
      isDatabaseError(fault) && fault.code === divided_by_zero ? stillRunning() : faultOf(fault),
  );
}

/** Stores the answer to a completed change under the claim; throws 409 like `keepAnswer`. */
export async function storeAnswer(
  context: HttpContext,
  claim: Claim,
  answer: KeptAnswer,
): Promise<void> {
  if ((await context.db.run(keeping(context, claim, answer))) === 0) throw stillRunning();
}

/** PostgreSQL's code if no row of the claim is left. */
const divided_by_zero = '22012';

function keeping(context: HttpContext, claim: Claim, answer: KeptAnswer): Sql {
  if (!claim.taken) return claiming(context, claim, answer);
  return sql`
    UPDATE ${placeOf(claim).table} SET status = ${answer.status},
      response_headers = ${JSON.stringify(answer.headers)}::jsonb,
      response_sealed = ${sealed(context, claim, answer)}
    WHERE ${isOwned(claim)} AND key = ${claim.key} AND method = ${claim.method}
      AND path = ${claim.path} AND claim_id = ${claim.id}`;
}

function sealed({ secrets }: HttpContext, { id }: Claim, { text }: KeptAnswer): Buffer | null {
  return text === null ? null : secrets.seal(text, responseContext(id));
}

/**
 * Runs before the answer of a POST is sent. It stores the answer if the handler did not. It
 * releases the key after a 429 and a 5xx, which ask for a retry, and after a long answer. Without a
 * change, a repeat is harmless, and many long answers would fill the disk.
 */
export async function settleIdempotencyKey(
  context: HttpContext,
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): Promise<unknown> {
  const claim = request.idempotency;
  if (claim === undefined || claim.stored) return payload;
  claim.stored = true;
  const type = reply.getHeader('content-type');
  const isLong = typeof payload === 'string' && payload.length > kept_length_max;
  try {
    if (reply.statusCode < 500 && reply.statusCode !== 429 && !isLong)
      await storeAnswer(context, claim, {
        status: reply.statusCode,
        headers: {
          ...(typeof type === 'string' ? { 'content-type': type } : {}),
          ...ignoredHeaders(request),
        },
        text: typeof payload === 'string' ? payload : null,
      });
    else if (claim.taken)
      await context.db.run(
        sql`DELETE FROM ${placeOf(claim).table} WHERE claim_id = ${claim.id} AND status IS NULL
          AND ${isOwned(claim)} AND key = ${claim.key}`,
      );
  } catch (error) {
    // The answer is still correct; the row expires.
    context.log.warn(
      { err: error, request_id: request.id },
      'the answer could not be kept under its idempotency key',
    );
  }
  return payload;
}

/**
 * Identifies the request, to detect another one under the same key. The hash is keyed: bodies
 * contain passwords, and a reader of the database could otherwise test a billion guesses a second.
 */
function fingerprint({ secrets }: HttpContext, request: FastifyRequest, query: string): Buffer {
  const digest = createHash('sha256')
    .update(query)
    .update('\0')
    .update(rawBody(request) ?? '')
    .update(reachOf(request))
    .digest('hex');
  return secrets.hash(`idempotent request ${digest}`);
}

/**
 * Returns the reach of an idempotency key. Under another key of the person, the same path
 * (`@current`, or one without an organization) may mean another place. A route's answer may also
 * depend on more scopes than its own. An answer outside the reach is not replayed. Empty for
 * callers with all rights.
 */
function reachOf({ caller, access }: FastifyRequest): string {
  const { scopes, scoped_organizations, scoped_teams } = caller;
  const rights = scopes.includes('*') ? '' : `\0${scopes.toSorted().join(' ')}`;
  if (scoped_organizations === null && scoped_teams === null) return rights;
  const reach =
    access === undefined
      ? [scoped_organizations, scoped_teams]
      : [access.organization_id, access.team_id];
  return `\0${JSON.stringify(reach)}${rights}`;
}

/**
 * Returns the context that seals a stored answer. The answer may contain a secret that is shown
 * once, so only the row of this claim opens it.
 */
export function responseContext(claim_id: string): string {
  return `idempotency_keys:${claim_id}:response`;
}

function stillRunning() {
  return conflict('A request with this Idempotency-Key is still running: try again in a moment.', {
    'retry-after': '1',
  });
}

/** Claims the key; returns false if another request has it. */
async function take(context: HttpContext, claim: Claim): Promise<boolean> {
  const taken = await context.db.run(claiming(context, claim)).catch((error: unknown) => {
    throw faultOf(error);
  });
  return taken > 0;
}

/**
 * Returns a statement that inserts the key, or replaces one that is older than 24 h, or whose
 * request crashed or met a failover of PostgreSQL; `keepAnswer` stops that request if it continues.
 * The primary key lets one of two racing requests win.
 */
function claiming(context: HttpContext, claim: Claim, answer?: KeptAnswer): Sql {
  const now = context.clock.now();
  const { table, owner } = placeOf(claim);
  return sql`
    INSERT INTO ${table} AS known (${owner}, key, method, path, body_hash, claim_id, created_at,
      locked_until, status, response_headers, response_sealed)
    VALUES (${claim.user_id ?? claim.service_key_id}, ${claim.key}, ${claim.method}, ${claim.path},
      ${claim.body_hash}, ${claim.id}, ${isoInstant(now)}::timestamptz,
      ${isoInstant(now + lock_ms)}::timestamptz, ${answer?.status ?? null},
      ${answer === undefined ? null : JSON.stringify(answer.headers)}::jsonb,
      ${answer === undefined ? null : sealed(context, claim, answer)})
    ON CONFLICT (${owner}, key, method, path) DO UPDATE
      SET body_hash = EXCLUDED.body_hash, claim_id = EXCLUDED.claim_id,
      created_at = EXCLUDED.created_at, epoch = EXCLUDED.epoch,
      locked_until = EXCLUDED.locked_until, status = EXCLUDED.status,
        response_headers = EXCLUDED.response_headers, response_sealed = EXCLUDED.response_sealed
    WHERE known.created_at <= ${isoInstant(now - replay_ms)}::timestamptz
      OR (known.status IS NULL AND known.body_hash = EXCLUDED.body_hash
        AND (known.locked_until <= ${isoInstant(now)}::timestamptz
          OR known.epoch <> EXCLUDED.epoch))`;
}

/** Returns the answer to a fault of a claim: the owner of the key is gone. */
function faultOf(error: unknown): unknown {
  const constraint = isDatabaseError(error) ? error.constraint : undefined;
  if (constraint === 'idempotency_keys_user_id_fkey')
    return unauthenticated(
      'authentication_failed',
      'The account was deleted while the request waited.',
    );
  if (constraint === 'service_idempotency_keys_service_key_id_fkey')
    return unauthenticated(
      'authentication_failed',
      'The service key was revoked while the request waited.',
    );
  return error;
}
