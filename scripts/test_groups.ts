import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './child.ts';

/** As many as keep a failure near its file, and a group shorter than the longest files. */
const files_max = 6;

/**
 * Each file of these has a process of its own: it kills processes, runs for minutes, or holds an
 * engine of which a process can have one.
 */
const alone = ['test/', 'server/engine/destinations/'];

/**
 * Test files that run in one process, as lists of paths from the repository's folder: those of a
 * folder together, in their order. Loading the server's modules and opening a first server costs
 * more than most files' tests, and a process does both once. The lists are in the order in which
 * they are to be run: those of `test/`, which take longest and mostly wait, begin one after the
 * other beside the others.
 */
export function groupTestFiles(files: string[]): string[][] {
  const groups: string[][] = [];
  for (const file of files) {
    const group = groups.at(-1);
    const [first] = group ?? [];
    const isTogether =
      group !== undefined &&
      first !== undefined &&
      dirname(first) === dirname(file) &&
      group.length < files_max;
    if (isTogether && !alone.some((folder) => file.startsWith(folder))) group.push(file);
    else groups.push([file]);
  }
  const isLong = ([first = '']: string[]) => first.startsWith('test/');
  const long = groups.filter(isLong);
  const others = groups.filter((group) => !isLong(group));
  return Array.from({ length: Math.max(long.length, others.length) }, (_, index) => [
    ...long.slice(index, index + 1),
    ...others.slice(index, index + 1),
  ]).flat();
}

/**
 * Gives the files that Node's test runner is to be told, one for each group, which it runs in the
 * order of their names. They are written into `folder`, with a suite for each test file, so that
 * hooks stay those of their file; each file's tests may take `seconds_max`.
 */
export async function writeGroups(
  groups: string[][],
  folder: string,
  seconds_max: number,
): Promise<string[]> {
  await mkdir(folder, { recursive: true });
  return Promise.all(
    groups.map(async (files, number) => {
      const suites = files.map((file) => {
        const url = pathToFileURL(join(root, file)).href;
        return (
          `describe(${JSON.stringify(file)}, { timeout: ${seconds_max * 1000} }, () => ` +
          `import(${JSON.stringify(url)}));`
        );
      });
      const path = join(folder, `${String(number).padStart(3, '0')}.test.mjs`);
      await writeFile(path, `import { describe } from 'node:test';\n${suites.join('\n')}\n`);
      return path;
    }),
  );
}
