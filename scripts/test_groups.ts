import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './child.ts';

/** As many as keep a failure near its file, and a group shorter than the longest files. */
const files_max = 6;

/**
 * Test files that run in one process, as lists of paths from the repository's folder: those of a folder below `server/` together, in their order. Loading the server's modules and opening a first server costs more than most files'
 * tests, and a process does both once. What lies in `test/` kills processes or runs for minutes, and has a process for each file.
 */
export function groupTestFiles(files: string[]): string[][] {
  const groups: string[][] = [];
  for (const file of files) {
    const group = groups.at(-1);
    const [first] = group ?? [];
    const isTogether = group !== undefined && first !== undefined && file.startsWith('server/') && dirname(first) === dirname(file) && group.length < files_max;
    if (isTogether) group.push(file);
    else groups.push([file]);
  }
  return groups;
}

/** Gives the files that Node's test runner is to be told: one for each group. Those that stand for several files are written into `folder`, with a suite for each file, so that hooks stay those of their file. */
export async function writeGroups(groups: string[][], folder: string, seconds_max: number): Promise<string[]> {
  await mkdir(folder, { recursive: true });
  return Promise.all(
    groups.map(async (files, number) => {
      const [first = ''] = files;
      if (files.length === 1) return first;
      const suites = files.map(
        (file) =>
          `describe(${JSON.stringify(file)}, { timeout: ${seconds_max * 1000} }, () => import(${JSON.stringify(pathToFileURL(join(root, file)).href)}));`,
      );
      const path = join(folder, `${number}_${dirname(first).replaceAll('/', '_')}.test.mjs`);
      await writeFile(path, `import { describe } from 'node:test';\n${suites.join('\n')}\n`);
      return path;
    }),
  );
}
