import { readFile, rename, writeFile } from 'node:fs/promises';

/** Progress of an import: the server has answered everything up to `line`. */
export type ImportState = {
  sha256: string;
  url: string;
  project: string;
  /** As `describeMapping` gives it. */
  mapping: string;
  is_finished: boolean;
  line: number;
  taken: number;
  duplicates: number;
  /** Those that a rule of the project drops; missing where an older version began. */
  dropped?: number;
  rejected: number;
  /** Events that no line is, and that join two ids of a row. */
  joins?: number;
};

/** The record beside the file during the import, and afterwards proof of the way it was read. */
export type ImportProgress = {
  state: ImportState;
  /**
   * The earlier import of the same content with another mapping; events that it stored do not
   * change.
   */
  differs_from: ImportState | undefined;
  /**
   * Replaces what was kept, in one step. A folder that cannot be written only costs the short cut:
   * sending lines again doubles nothing.
   */
  save(): Promise<void>;
};

type Wanted = Pick<ImportState, 'sha256' | 'url' | 'project' | 'mapping'>;

/**
 * Reads the state of an earlier import of the same content into the same project of the same
 * server: of a broken one with the same mapping it goes on, else it begins afresh.
 */
export async function openProgress(
  path: string | undefined,
  wanted: Wanted,
): Promise<ImportProgress> {
  const counts = { line: 0, taken: 0, duplicates: 0, rejected: 0 };
  const earlier = path === undefined ? undefined : await readEarlier(path, wanted);
  const isOther = earlier !== undefined && earlier.mapping !== wanted.mapping;
  const goesOn = earlier !== undefined && !isOther && !earlier.is_finished;
  const state = goesOn ? earlier : { ...wanted, is_finished: false, ...counts };
  return {
    state,
    differs_from: isOther && earlier.taken + earlier.duplicates > 0 ? earlier : undefined,
    save: async () => {
      if (path === undefined) return;
      try {
        await writeFile(`${path}.new`, `${JSON.stringify(state)}\n`);
        await rename(`${path}.new`, path);
      } catch (error) {
        if (!isFileError(error)) throw error;
      }
    },
  };
}

async function readEarlier(path: string, wanted: Wanted): Promise<ImportState | undefined> {
  try {
    const earlier = JSON.parse(await readFile(path, 'utf8')) as Partial<ImportState>;
    const isSame =
      earlier.sha256 === wanted.sha256 &&
      earlier.url === wanted.url &&
      earlier.project === wanted.project;
    const isWhole =
      typeof earlier.mapping === 'string' &&
      [earlier.line, earlier.taken, earlier.duplicates, earlier.rejected].every((count) =>
        Number.isSafeInteger(count),
      );
    return isSame && isWhole ? (earlier as ImportState) : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || isFileError(error)) return undefined;
    throw error;
  }
}

function isFileError(error: unknown): boolean {
  return (
    error instanceof Error &&
    'code' in error &&
    typeof error.code === 'string' &&
    error.code.startsWith('E')
  );
}
