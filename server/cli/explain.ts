import { ConfigError } from '../config/config.ts';
import { isDiskFull } from '../platform/disk/full_disk.ts';
import { FolderInUseError, FolderUnusableError } from '../platform/data_folder.ts';
import { ControlStoreError } from '../platform/postgres/control_store.ts';
import { SchemaTooNewError } from '../platform/postgres/migrate.ts';
import { WrongSecretKeyError } from '../platform/secrets/server_keys.ts';
import { NoStoreError, RestoreUnfinishedError } from './stores/stores.ts';
import { terminalText } from './shown_text.ts';
import { UserError, WrongUsageError } from './user_error.ts';

/** Faults whose message is made for the person at the terminal. */
const told = [
  ControlStoreError,
  FolderInUseError,
  FolderUnusableError,
  NoStoreError,
  RestoreUnfinishedError,
  SchemaTooNewError,
  UserError,
  WrongSecretKeyError,
];

/**
 * Tells on standard error why a command failed, and gives its exit code: a known fault in a
 * sentence, without a stack, and with 2 where the command line was wrong; wrong settings by their
 * names.
 */
export function explain(error: unknown): number {
  if (error instanceof ConfigError) {
    const lines = error.problems.map(({ variable, detail }) => `  ${variable} ${detail}\n`);
    process.stderr.write(`Wrong settings:\n${lines.join('')}`);
    return 2;
  }
  if (told.some((kind) => error instanceof kind)) {
    process.stderr.write(`${terminalText((error as Error).message)}\n`);
    return error instanceof WrongUsageError ? 2 : 1;
  }
  if (isDiskFull(error)) {
    const [reason] = (error as Error).message.split('\n');
    process.stderr.write(
      terminalText(`A disk is full: ${reason}. Make room, then run this command again.\n`),
    );
    return 1;
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`${terminalText(text)}\n`);
  return 1;
}
