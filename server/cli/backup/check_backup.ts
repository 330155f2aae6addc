import { counted } from '../../platform/counted.ts';
import { proxiesOf } from '../../config/outbound.ts';
import type { CommandContext } from '../command_context.ts';
import { UserError } from '../user_error.ts';
import { readFile } from './backup_file.ts';
import { requireKnownSchema } from './known_schema.ts';
import { chooseBackup, filesOf, openBackupKeys } from './manifest.ts';
import { readPassphrase } from './passphrase.ts';
import { openPlace } from './places/open_place.ts';

/** The options of `sluice backup --check`. */
export type CheckFlags = { passphraseFile?: string; to?: string; json?: boolean };

/**
 * `sluice backup --check`: reads a whole backup and compares it with its manifest, opens its secret
 * keys, and checks whether this release can restore it. It changes nothing, and needs neither
 * stores nor disk space. Exit code 1: create another backup.
 */
export async function checkBackup(
  { config, say }: CommandContext,
  address: string,
  flags: CheckFlags,
): Promise<number> {
  const passphrase = readPassphrase(config, flags.passphraseFile);
  const place = openPlace(address, proxiesOf(config));
  const began = performance.now();
  const backup = await chooseBackup(place, flags.to);
  const { name, manifest } = backup;
  const keys = await openBackupKeys(place, backup, passphrase);
  requireKnownSchema(manifest);
  if (config.secret_key !== undefined && !keys.includes(config.secret_key))
    throw new UserError(
      `SLUICE_SECRET_KEY is not among the secret keys of the backup ${name}: the backup ` +
        'belongs to another server, or to the time before the key was changed. Create a ' +
        'backup.',
    );
  const files = filesOf(manifest);
  for (const file of files) for await (const _ of await readFile(place, file));
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const seconds = (performance.now() - began) / 1_000;
  const { taken_at, release } = manifest;
  if (flags.json === true)
    say(JSON.stringify({ name, taken_at, release, files: files.length, bytes, seconds }));
  else
    say(
      `The backup ${name} in ${place.name} is complete: ${counted(files.length, 'file')}, ` +
        `${bytes} bytes, read in ${seconds.toFixed(1)} s. It has everything ingested before ` +
        `${taken_at}.`,
    );
  return 0;
}
