import { readFile, rename, rm, writeFile } from 'node:fs/promises';

/** How far an import has come: everything up to `line` was answered by the server. */
export type ImportState = {
  sha256: string;
  url: string;
  project: string;
  line: number;
  taken: number;
  duplicates: number;
  rejected: number;
};

/** What is kept beside the file while it is being imported. */
export type ImportProgress = {
  state: ImportState;
  /** Replaces what was kept, in one step. A folder that cannot be written only costs the short cut: sending lines again doubles nothing. */
  save(): Promise<void>;
  /** Removes it, at the end of a complete import. */
  clear(): Promise<void>;
};

/** Reads the state of an earlier, broken import of the same content into the same project of the same server; a fresh one when there is none. */
export async function openProgress(
  path: string | undefined,
  wanted: Pick<ImportState, 'sha256' | 'url' | 'project'>,
): Promise<ImportProgress> {
  const fresh: ImportState = { ...wanted, line: 0, taken: 0, duplicates: 0, rejected: 0 };
  const state = path === undefined ? fresh : ((await readEarlier(path, wanted)) ?? fresh);
  return {
    state,
    save: async () => {
      if (path === undefined) return;
      try {
        await writeFile(`${path}.new`, `${JSON.stringify(state)}\n`);
        await rename(`${path}.new`, path);
      } catch (error) {
        if (!isFileError(error)) throw error;
      }
    },
    clear: async () => {
      if (path !== undefined) await rm(path, { force: true }).catch(() => {});
    },
  };
}

async function readEarlier(
  path: string,
  wanted: Pick<ImportState, 'sha256' | 'url' | 'project'>,
): Promise<ImportState | undefined> {
  try {
    const earlier = JSON.parse(await readFile(path, 'utf8')) as Partial<ImportState>;
    const isSame =
      earlier.sha256 === wanted.sha256 &&
      earlier.url === wanted.url &&
      earlier.project === wanted.project;
    const isWhole = [earlier.line, earlier.taken, earlier.duplicates, earlier.rejected].every(
      (count) => Number.isSafeInteger(count),
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
