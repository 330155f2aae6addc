import { findFolderHolder } from '../platform/folders/data_folder.ts';
import {
  exchangeKeptSecretKey,
  forgetFormerSecretKey,
  isExchangingKept,
} from '../platform/secrets/kept_secret_keys.ts';
import type { Database } from '../platform/postgres/database.ts';
import { rewrapField } from '../platform/secrets/rewrap.ts';
import type { Rewrapped } from '../platform/secrets/rewrap.ts';
import type { Secrets } from '../platform/secrets/secrets.ts';
import type { CommandContext } from './command_context.ts';
import type { OpenProcess } from './process/process.ts';
import { sealed_fields } from './sealed_fields.ts';
import { withProcess } from './process/with_process.ts';

/**
 * Most passes. Another process may write a row under the former key behind the current position, so
 * the columns are read again until none was found.
 */
const passes_max = 10;

/**
 * `sluice secrets rotate`: re-encrypts everything under former secret keys with the current one,
 * and prints the count. If the data folder keeps the secret key, creates a new one first. It works
 * beside running servers, and can be repeated after a kill. Exit code 1 if no accepted key opens an
 * envelope.
 */
export async function rotateSecrets(context: CommandContext): Promise<number> {
  const { config, say } = context;
  const isKept = config.secret_key === undefined;
  const prepare = () => {
    if (!isKept) return;
    say(
      isExchangingKept(config.data_dir)
        ? 'Continues an unfinished rotation.'
        : 'Creates a new secret key in the data folder.',
    );
    exchangeKeptSecretKey(config.data_dir);
  };
  const rotate = async ({ deps }: OpenProcess) => {
    const found = await rewrapAll(deps.db, deps.secrets);
    for (const { table, field, rewrapped } of found)
      say(`${String(rewrapped).padStart(8)}  ${table}.${field}`);
    const unreadable = found.flatMap(({ table, unreadable: ids }) =>
      ids.map((id) => `${table} ${id}`),
    );
    for (const row of unreadable)
      say(
        `No accepted secret key opens ${row}: add the right one to ` +
          'SLUICE_PREVIOUS_SECRET_KEYS, or enter its secrets again.',
      );
    if (unreadable.length > 0) return 1;
    say(
      isKept
        ? endKept(config.data_dir)
        : 'No former secret key is in use any longer: you can remove SLUICE_PREVIOUS_SECRET_KEYS.',
    );
    return 0;
  };
  return withProcess(context, rotate, { prepare });
}

/** Processes every column until nothing is left, and returns the counts by column. */
export async function rewrapAll(db: Database, secrets: Secrets): Promise<Rewrapped[]> {
  const sums = new Map(
    sealed_fields.map((sealed) => [
      sealed,
      { table: sealed.table, field: sealed.field, rewrapped: 0, unreadable: [] as string[] },
    ]),
  );
  for (let pass = 0; pass < passes_max; pass += 1) {
    let rewrapped = 0;
    for (const [sealed, sum] of sums) {
      const found = await rewrapField(db, secrets, sealed);
      rewrapped += found.rewrapped;
      sums.set(sealed, {
        ...sum,
        rewrapped: sum.rewrapped + found.rewrapped,
        unreadable: found.unreadable,
      });
    }
    if (rewrapped === 0) break;
  }
  return [...sums.values()];
}

/**
 * Deletes the former key only if this process runs the folder's server: another server may be about
 * to store an envelope under that key.
 */
function endKept(folder: string): string {
  if (findFolderHolder(folder) !== process.pid)
    return (
      'Running servers already use the new secret key. The previous key stays in ' +
      'secret_key.previous. You can delete that file once you have restarted all servers.'
    );
  forgetFormerSecretKey(folder);
  return 'The former secret key is no longer in use and was deleted.';
}
