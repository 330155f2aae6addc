import { readFile, rename, writeFile } from 'node:fs/promises';

/** Progress of an import: the server has answered all lines up to `line`. */
export type ImportState = {
  sha256: string;
  url: string;
  project: string;
  /** From `describeMapping`. */
  mapping: string;
  is_finished: boolean;
  line: number;
  taken: number;
  duplicates: number;
  /** Events that a rule of the project dropped; missing if an older version started the import. */
  dropped?: number;
  rejected: number;
  /** Events that come from no line and join two ids of a row. */
  joins?: number;
};

/** The stored progress of an import, which also records its mapping afterwards. */
export type ImportProgress = {
  state: ImportState;
  /**
   * An earlier import of the same content with another mapping; its stored events do not change.
   */
  differs_from: ImportState | undefined;
  /**
   * Replaces the stored progress atomically. Without a writable folder, an interrupted import
   * starts from the beginning, which stores no event twice.
   */
  save(): Promise<void>;
};

type Wanted = Pick<ImportState, 'sha256' | 'url' | 'project' | 'mapping'>;

/**
 * Reads the progress of an earlier import of the same content into the same project and server. An
 * interrupted import with the same mapping continues; otherwise it starts from the beginning.
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
