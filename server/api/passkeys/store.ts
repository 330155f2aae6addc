import type { FastifyReply, FastifyRequest } from 'fastify';
import sql from 'sql-template-tag';
import type { Static } from 'typebox';
import { v7 as uuidv7 } from 'uuid';
import type { Deps } from '../../deps.ts';
import { isoInstant } from '../../platform/clock.ts';
import { markBrowser } from '../../platform/http/caller/browser_mark.ts';
import { conflict, invalid, notedAs } from '../../platform/http/errors.ts';
import type { ApiError } from '../../platform/http/errors.ts';
import { listOf } from '../../platform/http/lists/pagination.ts';
import type { List } from '../../platform/http/lists/pagination.ts';
import { isDatabaseError } from '../../platform/postgres/database.ts';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import { locking } from '../../platform/postgres/locking.ts';
import type { Identity } from '../users/store.ts';
import { challenge_lifetime_ms, createChallenge, useChallenge } from './challenge.ts';
import type { Bound } from './challenge.ts';
import { getRelyingParty } from './relying_party.ts';
import type {
  CreateOptions,
  CreatedPasskey,
  GivenPasskey,
  PasskeyRow,
  ShowOptions,
} from './schema.ts';
import { algorithms, verifyCreated, verifyShown } from './verify.ts';
import type { KnownCredential, NewCredential } from './verify.ts';

/** Most passkeys of a person. */
const passkeys_max = 20;

const columns = sql`
  p.id, p.name, p.aaguid, p.transports, p.is_backup_eligible, p.is_backed_up, p.created_at,
    p.last_used_at`;

type Tools = Pick<Deps, 'secrets' | 'clock' | 'config'>;

/** The person's passkeys, newest first (ties by id). Leans on passkeys_by_user. */
export function listPasskeys(user_id: number): List {
  return listOf(
    columns,
    sql`passkeys p WHERE p.user_id = ${user_id}`,
    sql`p.created_at DESC, p.id DESC`,
  );
}

/** The person's passkey with this id; with `lock` it stays as it is until the transaction ends. */
export function findPasskey(
  db: Queryable,
  user_id: number,
  id: string,
  lock?: 'lock',
): Promise<PasskeyRow | undefined> {
  return db.row<PasskeyRow>(
    sql`SELECT ${columns} FROM passkeys p WHERE p.id = ${id}::uuid AND p.user_id = ${user_id}
      ${locking(lock, 'FOR UPDATE')}`,
  );
}

/** Gives the passkey another name. */
export async function renamePasskey(tx: Transaction, id: string, name: string): Promise<void> {
  await tx.run(sql`UPDATE passkeys SET name = ${name} WHERE id = ${id}::uuid`);
}

/** Removes the passkey: what the authenticator keeps opens nothing any more. */
export async function deletePasskey(tx: Transaction, id: string): Promise<void> {
  await tx.run(sql`DELETE FROM passkeys WHERE id = ${id}::uuid`);
}

/** The active user to whom a passkey belongs, and their address as it is compared. */
export function findPasskeyOwner(
  db: Queryable,
  { id }: GivenPasskey,
): Promise<{ id: number; uuid: string; email: string; address: string } | undefined> {
  return db.row(sql`
    SELECT u.id, u.uuid, u.email, comparable_address(u.email) AS address
    FROM passkeys p JOIN users u ON u.id = p.user_id AND u.is_active
    WHERE p.credential_id = ${id}`);
}

/**
 * Gives the options for a browser to show a passkey, and sets the mark by which this browser
 * is known again. It says nothing of any account. Throws as `getRelyingParty`.
 */
export function showOptions(
  { secrets, clock }: Tools,
  request: FastifyRequest,
  reply: FastifyReply,
): Static<typeof ShowOptions> {
  const { id } = getRelyingParty(request);
  const bound: Bound = { purpose: 'show', user_id: null, browser: markBrowser(request, reply) };
  return {
    challenge: createChallenge(secrets, clock.now(), bound),
    rpId: id,
    timeout: challenge_lifetime_ms,
    userVerification: 'required',
  };
}

/**
 * Gives the options for a browser to create a passkey for the user, who has proved that it is them.
 * Throws as `getRelyingParty`, and 409 when they have as many as there can be.
 */
export async function createOptions(
  tx: Transaction,
  { secrets, clock }: Tools,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  user: Identity,
): Promise<Static<typeof CreateOptions>> {
  const party = getRelyingParty(request);
  const own = await tx.rows<{ id: string; transports: string[] }>(
    sql`SELECT credential_id AS id, transports FROM passkeys WHERE user_id = ${user.id}
      ORDER BY created_at, id`,
  );
  refuseTooMany(own.length);
  const browser = markBrowser(request, reply);
  const bound: Bound = { purpose: 'create', user_id: user.id, browser };
  const name = `${user.first_name} ${user.last_name}`.trim();
  return {
    challenge: createChallenge(secrets, clock.now(), bound),
    rp: { id: party.id, name: 'Sluice' },
    user: { id: handleOf(user), name: user.email, displayName: name === '' ? user.email : name },
    pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key', alg })),
    timeout: challenge_lifetime_ms,
    excludeCredentials: own.map((one) => ({ ...one, type: 'public-key' })),
    authenticatorSelection: {
      residentKey: 'required',
      requireResidentKey: true,
      userVerification: 'required',
    },
    attestation: 'none',
  };
}

/**
 * Keeps the passkey that the browser created for the user, whom the caller holds. Throws 400 when
 * the browser was not asked for it by `createOptions` within five minutes, or the passkey is known
 * already, 409 when the user has as many as there can be.
 */
export async function createPasskey(
  tx: Transaction,
  deps: Tools,
  request: FastifyRequest,
  user: Identity,
  given: { name: string; passkey: CreatedPasskey },
): Promise<PasskeyRow> {
  const bound = { purpose: 'create', user_id: user.id } as const;
  const asked = await useChallenge(tx, deps, request, bound, given.passkey.response);
  const created =
    'refused' in asked ? asked : await verifyCreated(asked.party, asked.challenge, given.passkey);
  if ('refused' in created) {
    const detail =
      'This does not answer the request, or it took longer than five minutes. Start again.';
    const error = invalid('passkey', 'invalid_input', detail);
    throw notedPasskey(error, 'confirmation_failed', wrong(created.refused));
  }
  const row = await tx.row<{ count: number }>(
    sql`SELECT count(*) AS count FROM passkeys WHERE user_id = ${user.id}`,
  );
  refuseTooMany(row!.count);
  return insertPasskey(tx, deps.clock.now(), user.id, { ...created, name: given.name });
}

async function insertPasskey(
  tx: Transaction,
  now_ms: number,
  user_id: number,
  { name, ...credential }: NewCredential & { name: string },
): Promise<PasskeyRow> {
  const { id, public_key, sign_count, transports, aaguid } = credential;
  try {
    const [row] = await tx.rows<PasskeyRow>(sql`
      INSERT INTO passkeys AS p (id, user_id, credential_id, public_key, sign_count, transports,
        aaguid, name, is_backup_eligible, is_backed_up, created_at)
      VALUES (${uuidv7()}, ${user_id}, ${id}, ${public_key}, ${sign_count}, ${transports}::text[],
        ${aaguid}::uuid, ${name}, ${credential.is_backup_eligible}, ${credential.is_backed_up},
        ${isoInstant(now_ms)}::timestamptz)
      RETURNING ${columns}`);
    return row!;
  } catch (error) {
    if (isDatabaseError(error) && error.constraint === 'passkeys_credential_unique')
      throw invalid('passkey', 'unique', 'This passkey is in use already: create another one.');
    throw error;
  }
}

/**
 * Why a passkey proves nothing: a word for the security log, and for the line in the server's log
 * what was wrong. Whoever showed it is told neither.
 */
export type PasskeyFault = { reason: 'wrong_passkey' | 'copied_passkey'; detail: string };

/**
 * Proves by a passkey that it is the user, whom the caller holds: one of theirs, shown in the
 * browser that was asked by `showOptions` within five minutes, once, to an authenticator that knew
 * them by more than their presence. So it stands for both factors. Gives why another one does not;
 * nor does one whose sign count did not grow, because then a copy of it is in use.
 */
export async function provePasskey(
  tx: Transaction,
  deps: Tools,
  request: FastifyRequest,
  user: Identity,
  given: GivenPasskey,
): Promise<PasskeyFault | undefined> {
  const known = await tx.row<KnownCredential & { id: string; sign_count: number }>(
    sql`SELECT id, credential_id, public_key, sign_count FROM passkeys
      WHERE credential_id = ${given.id} AND user_id = ${user.id}`,
  );
  if (known === undefined) return wrong('not one of this account');
  if ((given.response.userHandle ?? handleOf(user)) !== handleOf(user))
    return wrong('created for another account');
  const bound = { purpose: 'show', user_id: null } as const;
  const asked = await useChallenge(tx, deps, request, bound, given.response);
  if ('refused' in asked) return wrong(asked.refused);
  const shown = await verifyShown(asked.party, asked.challenge, given, known);
  if ('refused' in shown) return wrong(shown.refused);
  // Authenticators that do not count say 0 each time.
  if (shown.sign_count <= known.sign_count && (shown.sign_count > 0 || known.sign_count > 0))
    return {
      reason: 'copied_passkey',
      detail: `its sign count did not grow: ${shown.sign_count} after ${known.sign_count}`,
    };
  await tx.run(sql`
    UPDATE passkeys SET sign_count = ${shown.sign_count}, is_backed_up = ${shown.is_backed_up},
      last_used_at = ${isoInstant(deps.clock.now())}::timestamptz WHERE id = ${known.id}::uuid`);
  return undefined;
}

function refuseTooMany(present: number): void {
  if (present >= passkeys_max)
    throw conflict(
      `You have ${present} passkeys, and ${passkeys_max} is the most: remove one that you no ` +
        'longer need, then try again.',
    );
}

/** The user's handle in authenticators: their uuid, which says nothing about them. */
function handleOf({ uuid }: Pick<Identity, 'uuid'>): string {
  return Buffer.from(uuid.replaceAll('-', ''), 'hex').toString('base64url');
}

function wrong(detail: string): PasskeyFault {
  return { reason: 'wrong_passkey', detail };
}

/** The error, to be noted in the security log with what was wrong with the passkey. */
export function notedPasskey(
  error: ApiError,
  event: 'sign_in_failed' | 'confirmation_failed',
  { reason, detail }: PasskeyFault,
): ApiError {
  const noted = notedAs(error, event, reason);
  noted.refusal!.more = { passkey: detail };
  return noted;
}

/** 400 for a passkey that does not confirm that it is the person who is signed in. */
export function wrongPasskey(fault: PasskeyFault): ApiError {
  const detail =
    'This passkey does not belong to your account, or it took longer than five minutes: try again.';
  return notedPasskey(invalid('passkey', 'invalid_input', detail), 'confirmation_failed', fault);
}
