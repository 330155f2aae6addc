import sql from 'sql-template-tag';
import type { Database } from '../postgres/database.ts';
import { openSecrets, ownKeysOf } from './secrets.ts';
import type { OwnKeys, SecretKeys, Secrets } from './secrets.ts';

/** Context that seals the row of the server's own keys. */
export const server_keys_context = 'server_keys:1:sealed';

/** Thrown if no accepted secret key opens the server's own keys; the message names the action. */
export class WrongSecretKeyError extends Error {
  constructor() {
    super(
      'This database was set up under another secret key. Start with that one as ' +
        'SLUICE_SECRET_KEY (or as the file secret_key of the data folder), or name it in ' +
        'SLUICE_PREVIOUS_SECRET_KEYS while you rotate it.',
    );
    this.name = 'WrongSecretKeyError';
  }
}

/**
 * Opens the secrets of the server that owns this database. Guarantee: hashes, the activity log and
 * receipts stay valid after rotations of the secret key, because their keys are created once and
 * stored sealed in the database. The first process derives them from its oldest secret key, so that
 * earlier hashes and receipts stay valid. Throws `WrongSecretKeyError`.
 */
export async function openServerSecrets(
  db: Database,
  secretKeys: () => SecretKeys,
): Promise<Secrets> {
  const wrapping = openSecrets(secretKeys);
  const sealed =
    (await findSealed(db)) ?? (await insertSealed(db, wrapping, ownKeysOf(secretKeys().at(-1)!)));
  let text: string;
  try {
    text = wrapping.open(sealed, server_keys_context);
  } catch {
    throw new WrongSecretKeyError();
  }
  const { hash, chain, signature } = JSON.parse(text) as Record<keyof OwnKeys, string>;
  const own = {
    hash: Buffer.from(hash, 'base64'),
    chain: Buffer.from(chain, 'base64'),
    signature: Buffer.from(signature, 'base64'),
  };
  return openSecrets(secretKeys, own);
}

async function findSealed(db: Database): Promise<Buffer | undefined> {
  return (await db.row<{ sealed: Buffer }>(sql`SELECT sealed FROM server_keys WHERE id = 1`))
    ?.sealed;
}

/** Returns the stored keys: another process may have been first. */
async function insertSealed(db: Database, secrets: Secrets, own: OwnKeys): Promise<Buffer> {
  const text = JSON.stringify({
    hash: own.hash.toString('base64'),
    chain: own.chain.toString('base64'),
    signature: own.signature.toString('base64'),
  });
  await db.run(
    sql`INSERT INTO server_keys (id, sealed) VALUES (1, ${secrets.seal(text, server_keys_context)})
      ON CONFLICT DO NOTHING`,
  );
  return (await findSealed(db))!;
}
