import { ConfigError } from '../config/config.ts';
import { isDiskFull } from '../platform/disk/full_disk.ts';
import { FolderInUseError, FolderUnusableError } from '../platform/folders/data_folder.ts';
import { isOutOfFiles, out_of_files } from '../platform/open_files.ts';
import { StartFailure } from '../platform/embedded/supervise.ts';
import { ControlStoreError } from '../platform/postgres/control_store_error.ts';
import { SchemaTooNewError } from '../platform/postgres/migrate.ts';
import { OlderProcessError } from '../platform/postgres/older_processes.ts';
import { WrongSecretKeyError } from '../platform/secrets/server_keys.ts';
import { NoStoreError, RestoreUnfinishedError } from './stores/stores.ts';
import { terminalText } from '../platform/terminal_text.ts';
import { UserError } from './user_error.ts';

/** Faults whose messages are for the person at the terminal. */
const told = [
  ControlStoreError,
  FolderInUseError,
  FolderUnusableError,
  NoStoreError,
  RestoreUnfinishedError,
  SchemaTooNewError,
  OlderProcessError,
  StartFailure,
  UserError,
  WrongSecretKeyError,
];

/**
 * Writes to standard error why a command failed, and returns its exit code. A known fault is a
 * sentence without a stack, and has the code of its kind. Invalid settings are listed by name.
 */
export function explain(error: unknown): number {
  if (error instanceof ConfigError) {
    const lines = error.problems.map(({ variable, detail }) => `  ${variable} ${detail}\n`);
    process.stderr.write(`Wrong settings:\n${lines.join('')}`);
    return 2;
  }
  const sentence = sentenceOf(error);
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`${terminalText(sentence ?? text)}\n`);
  return error instanceof UserError ? error.exit_code : 1;
}

/** Returns the sentence for a known fault, or undefined for any other. */
export function sentenceOf(error: unknown): string | undefined {
  if (told.some((kind) => error instanceof kind)) return (error as Error).message;
  if (isOutOfFiles(error)) return out_of_files;
  if (!isDiskFull(error)) return undefined;
  const [reason] = (error as Error).message.split('\n');
  return `A disk is full: ${reason}. Make room (or free inodes), then run this command again.`;
}
