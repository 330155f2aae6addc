import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from './child.ts';

/** So long may a process hold something open behind its last test. */
const seconds_to_end = 30;

/**
 * What runs together: the files that a pattern fits, as many as keep the cores evenly busy until
 * the end.
 */
type Room = { files: RegExp; files_max: number };

// The first pattern that fits a file is the file's. Alone is what kills processes and runs for
// minutes, what holds an engine of which a process can have one (the files of a process are loaded
// before the first of them runs), and what measures the memory of its process.
const rooms: Room[] = [
  { files: /\/streams\.test\.ts$/, files_max: 1 },
  { files: /^test\/house\//, files_max: 24 },
  { files: /^(test|console)\//, files_max: 1 },
  { files: /^server\/engine\/destinations\//, files_max: 1 },
  { files: /^server\/api\//, files_max: 16 },
  { files: /^server\/engine\//, files_max: 12 },
  { files: /^server\//, files_max: 16 },
];

/**
 * Test files that run in one process, as lists of paths from the repository's folder: neighbours
 * together, in their order. Loading the server's modules, opening a first server and running code
 * that is not compiled yet costs more than most files' tests, and a process does all this once. The
 * lists are in the order in which they are to be run: those of `test/`, which take longest and
 * mostly wait, begin one after the other beside the others.
 */
export function groupTestFiles(files: string[]): string[][] {
  const groups: { room: Room; files: string[] }[] = [];
  for (const file of files) {
    const room = rooms.find((one) => one.files.test(file));
    if (room === undefined) throw new Error(`${file} has no place in scripts/test_groups.ts.`);
    const group = groups.at(-1);
    if (group?.room === room && group.files.length < room.files_max) group.files.push(file);
    else groups.push({ room, files: [file] });
  }
  const [long, others] = [true, false].map((isLong) =>
    groups
      .map((group) => group.files)
      .filter(([first = '']) => first.startsWith('test/') === isLong),
  ) as [string[][], string[][]];
  return Array.from({ length: Math.max(long.length, others.length) }, (_, index) => [
    ...long.slice(index, index + 1),
    ...others.slice(index, index + 1),
  ]).flat();
}

/**
 * Gives the files that Node's test runner is to be told, one for each group, which it runs in the
 * order of their names. They are written into `folder`, with a suite for each test file, so that
 * hooks stay those of their file; each file's tests may take `seconds_max`, and their process ends
 * soon after the last of them.
 */
export async function writeGroups(
  groups: string[][],
  folder: string,
  seconds_max: number,
): Promise<string[]> {
  const url = (path: string) => JSON.stringify(pathToFileURL(join(root, path)).href);
  return Promise.all(
    groups.map(async (files, number) => {
      const suites = files.map(
        (file, index) =>
          `describe(${JSON.stringify(file)}, { timeout: ${seconds_max * 1000} }, async () => {\n` +
          `  await import(${url(file)});\n` +
          (index === files.length - 1 ? `  after(() => endAfter(${seconds_to_end}));\n` : '') +
          '});',
      );
      const path = join(folder, `${String(number).padStart(3, '0')}.test.mjs`);
      const head = [
        "import { after, describe } from 'node:test';",
        `import { endAfter } from ${url('scripts/test_deadline.ts')};`,
        `endAfter(${seconds_max * files.length});`,
      ];
      await writeFile(path, `${[...head, ...suites].join('\n')}\n`);
      return path;
    }),
  );
}
