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

/** Lists the person's passkeys, newest first (ties by id). Uses passkeys_by_user. */
export function listPasskeys(user_id: number): List {
  return listOf(
    columns,
    sql`passkeys p WHERE p.user_id = ${user_id}`,
    sql`p.created_at DESC, p.id DESC`,
  );
}

/**
 * Returns the person's passkey with this id; with `lock`, it cannot change until the transaction
 * ends.
 */
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

/** Renames the passkey. */
export async function renamePasskey(tx: Transaction, id: string, name: string): Promise<void> {
  await tx.run(sql`UPDATE passkeys SET name = ${name} WHERE id = ${id}::uuid`);
}

/** Deletes the passkey; the authenticator's copy becomes useless. */
export async function deletePasskey(tx: Transaction, id: string): Promise<void> {
  await tx.run(sql`DELETE FROM passkeys WHERE id = ${id}::uuid`);
}

/** Returns the active user who owns a passkey, and their address in its comparable form. */
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
 * Returns the options for a browser to show a passkey, and sets the cookie that recognises this
 * browser. The answer reveals nothing about accounts. Throws like `getRelyingParty`.
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
 * Returns the options for a browser to create a passkey for the user, whose identity was confirmed.
 * Throws like `getRelyingParty`, and 409 if they have the most passkeys.
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
 * Stores the passkey that the browser created for the user, whom the caller has locked. Throws 400
 * if `createOptions` did not request it from this browser within five minutes, or if it is already
 * stored. Throws 409 if the user has the most passkeys.
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
 * Why a passkey was refused: a word for the security log, and the details for the server's log. The
 * sender gets neither.
 */
export type PasskeyFault = { reason: 'wrong_passkey' | 'copied_passkey'; detail: string };

/**
 * Verifies a passkey of the user, whom the caller has locked. It must be one of theirs, from a
 * browser that called `showOptions` within five minutes, used once, with user verification by the
 * authenticator. So it counts as both factors. Returns why another passkey is refused. A sign count
 * that did not grow is refused too, because a copy may be in use.
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
  if (known === undefined) return wrong('does not belong to this account');
  if ((given.response.userHandle ?? handleOf(user)) !== handleOf(user))
    return wrong('created for another account');
  const bound = { purpose: 'show', user_id: null } as const;
  const asked = await useChallenge(tx, deps, request, bound, given.response);
  if ('refused' in asked) return wrong(asked.refused);
  const shown = await verifyShown(asked.party, asked.challenge, given, known);
  if ('refused' in shown) return wrong(shown.refused);
  // Authenticators without a counter send 0 each time.
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

/** Returns the user's handle for authenticators: their uuid, which reveals nothing about them. */
function handleOf({ uuid }: Pick<Identity, 'uuid'>): string {
  return Buffer.from(uuid.replaceAll('-', ''), 'hex').toString('base64url');
}

function wrong(detail: string): PasskeyFault {
  return { reason: 'wrong_passkey', detail };
}

/** Returns the error, with the fault of the passkey for the security log. */
export function notedPasskey(
  error: ApiError,
  event: 'sign_in_failed' | 'confirmation_failed',
  { reason, detail }: PasskeyFault,
): ApiError {
  const noted = notedAs(error, event, reason);
  noted.refusal!.more = { passkey: detail };
  return noted;
}

/** Returns the 400 for a passkey that does not confirm the signed-in person. */
export function wrongPasskey(fault: PasskeyFault): ApiError {
  const detail =
    'This passkey does not belong to your account, or it took longer than five minutes: try again.';
  return notedPasskey(invalid('passkey', 'invalid_input', detail), 'confirmation_failed', fault);
}
