import { promises } from 'node:fs';
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import type { FaultCase, Scene } from './matrix.ts';

let places = 0;

/** Faults of the File destination in the folder of exports. */
export function fileFaults(folder: string): FaultCase[] {
  const scene = (fault: (path: string) => Partial<Scene>): (() => Promise<Scene>) => {
    return async () => {
      const prefix = `faults/file-${(places += 1)}`;
      const path = join(folder, prefix);
      return { config: { prefix }, visible: () => linesIn(path), ...fault(path) };
    };
  };
  const elsewhere = (export_dir: string) =>
    scene(() => ({ engine: (engine) => ({ ...engine, export_dir }), is_lasting: true as const }));
  return [
    {
      destination: 'File',
      fault: 'the disk is full',
      code: 'disk_full',
      ending: 'tried again',
      prepare: scene((path) => {
        const giveBack = { now: () => {} };
        return {
          strike: async () => void (giveBack.now = fillDisk(path)),
          lift: async () => giveBack.now(),
        };
      }),
    },
    {
      destination: 'File',
      fault: 'a file is where the folder should be',
      code: 'invalid_path',
      ending: 'Failed',
      prepare: scene((path) => ({
        strike: async () => {
          await mkdir(join(path, '..'), { recursive: true });
          await writeFile(path, '');
        },
        visible: async () =>
          (await readFile(path).catch(() => undefined)) === undefined ? linesIn(path) : 0,
        lift: () => rm(path),
      })),
    },
    // No user, not even root, can create a folder there, whether or not it is mounted read-only.
    {
      destination: 'File',
      fault: 'no right to write, or mounted for reading only',
      code: 'permission_denied',
      ending: 'Failed',
      prepare: elsewhere('/sys/kernel'),
    },
    {
      destination: 'File',
      fault: 'the export folder is a file',
      code: 'invalid_path',
      ending: 'Failed',
      prepare: elsewhere('/etc/passwd'),
    },
  ];
}

/** Returns lines of the files that a reader sees in the folder. */
export async function linesIn(path: string): Promise<number> {
  const names = await readdir(path).catch(() => []);
  const texts = await Promise.all(
    names
      .filter((name) => name.endsWith('.jsonl'))
      .map((name) => readFile(join(path, name), 'utf8')),
  );
  return texts.join('').split('\n').length - 1;
}

/**
 * Lets the operating system refuse writes into files below the path for lack of space. Returns a
 * function that ends that.
 */
function fillDisk(path: string): () => void {
  const { open } = promises;
  promises.open = async (name, ...rest) => {
    const file = await open(name, ...rest);
    if (!String(name).startsWith(path)) return file;
    const full = () =>
      Promise.reject(
        Object.assign(new Error('ENOSPC: no space left on device, write'), {
          code: 'ENOSPC',
          errno: -28,
          syscall: 'write',
        }),
      );
    return Object.assign(file, { write: full, writev: full, writeFile: full });
  };
  syncBuiltinESMExports();
  return () => {
    promises.open = open;
    syncBuiltinESMExports();
  };
}
