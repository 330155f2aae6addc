import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from '../child.ts';

/** Longest time for which a process may hold something open after its last test. */
const seconds_to_end = 30;

/**
 * A set of files that share processes: the files that match a pattern. They are split into
 * neighbours that keep two cores evenly busy, or dealt to a number of processes. Four cores get
 * twice as many processes. One process takes about `seconds` beside the others. The longest starts
 * first, so that the last ones to start are short.
 */
type Room = { files: RegExp; seconds: number } & ({ files_max: number } | { processes: number });

// The first matching pattern decides. Files that kill processes, run for minutes or measure the
// memory of their process are alone. Files with a browser are together, because a process has one
// browser. Neighbours share resources (test/between_files.ts). The simulation is limited by the
// clock.
const rooms: Room[] = [
  { files: /\/streams\.test\.ts$/, files_max: 1, seconds: 5 },
  { files: /^test\/(chaos|clickhouse_cluster|identities|watchers)\//, processes: 1, seconds: 4 },
  { files: /^test\/(simulation|fault_matrix|main_job)/, files_max: 1, seconds: 20 },
  { files: /^test\/(?!console|house)/, processes: 3, seconds: 10 },
  {
    files: /^(test\/)?console\/|_browser\.test\.ts$|\/(site_apps|browser_clients)\.test\.ts$/,
    processes: 2,
    seconds: 4,
  },
  { files: /^test\/house\//, processes: 1, seconds: 0.5 },
  { files: /^server\/api\//, files_max: 80, seconds: 1.5 },
  { files: /^server\/engine\//, files_max: 70, seconds: 3 },
  { files: /^server\//, files_max: 120, seconds: 2 },
];

/**
 * Returns the test files of each process, as lists of paths from the repository's folder:
 * neighbours together in their order, or dealt. Loading the server's modules, opening a first
 * server and compiling code costs more than the tests of most files, and a process does it once.
 * The longest list comes first. `share`: number of pairs of cores.
 */
export function groupTestFiles(files: string[], share = 1): string[][] {
  const filesOf = new Map<Room, string[]>(rooms.map((room) => [room, []]));
  for (const file of files) {
    const room = rooms.find((one) => one.files.test(file));
    if (room === undefined)
      throw new Error(`${file} has no place in scripts/check/test_groups.ts.`);
    filesOf.get(room)!.push(file);
  }
  const groups = rooms.flatMap((room) =>
    together(filesOf.get(room)!, room, share).map((group) => ({
      group,
      seconds: group.length * room.seconds,
    })),
  );
  groups.sort((one, other) => other.seconds - one.seconds);
  return groups.map(({ group }) => group);
}

function together(files: string[], room: Room, share: number): string[][] {
  const size = 'processes' in room ? 0 : Math.ceil(room.files_max / share);
  const count = 'processes' in room ? room.processes * share : Math.ceil(files.length / size);
  const groups = Array.from({ length: Math.min(count, files.length) }, (): string[] => []);
  for (const [index, file] of files.entries())
    groups['processes' in room ? index % count : Math.floor(index / size)]!.push(file);
  return groups;
}

/**
 * Writes a file for each group into `folder`, and returns the files for Node's test runner, which
 * runs them in the order of their names. Each has a suite for each test file, so that hooks stay in
 * their file. The tests of a file may take `seconds_max`, and the process ends soon after the last
 * one. A file is loaded by `require`, without top-level `await`: `import` would walk all modules of
 * the process again for each file.
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
          `describe(${JSON.stringify(file)}, { timeout: ${seconds_max * 1000} }, () => {\n` +
          `  require(${JSON.stringify(join(root, file))});\n` +
          (index === files.length - 1 ? `  after(() => endAfter(${seconds_to_end}));\n` : '') +
          '});',
      );
      const path = join(folder, `${String(number).padStart(3, '0')}.test.mjs`);
      const head = [
        `import { stopFollowing } from ${url('scripts/check/test_attribution.ts')};`,
        "import { createRequire } from 'node:module';",
        `import { endAfter } from ${url('scripts/check/test_deadline.ts')};`,
        "const { after, describe } = await import('node:test');",
        'const require = createRequire(import.meta.url);',
        `endAfter(${seconds_max * files.length});`,
      ];
      await writeFile(path, `${[...head, ...suites, 'stopFollowing();'].join('\n')}\n`);
      return path;
    }),
  );
}
