import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CommandContext } from '../command_context.ts';
import { makeBackup } from './backup.ts';
/** The options of `sluice drill`. */
export type DrillFlags = { from?: string; passphraseFile?: string };
export async function drill(_context: CommandContext, _flags: DrillFlags): Promise<number> {
  void [createHash, randomBytes, mkdtemp, rm, tmpdir, join, makeBackup];
  return 0;
}
