import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { join, posix } from 'node:path';
import { listImports, listSourceFiles } from '../../test/house/source_files.ts';
import type { SourceFile } from '../../test/house/source_files.ts';
import { root } from '../child.ts';

/**
 * The references of each source file: the modules that it imports as values, and the files and
 * folders that it names by a literal path (programs that it starts, migrations, pages).
 */
export type Reach = Map<string, string[]>;

/** These decide what all tests run on, which of them run, and how. */
export const of_all_tests = /^(package(-lock)?\.json|scripts\/(check\/\w+|child)\.ts)$/;
/** The console is built from these files before the tests, and the other file opens it. */
const built = { from: 'console/', opened_by: 'server/api/console/build.ts' };
/** Their tests read the repository itself. */
const reads_everything = 'test/house/';

let whole: Reach | undefined;

/**
 * Reads what each of the given files names; without files, reads the whole repository, once in a
 * process.
 */
export function readReach(files?: readonly SourceFile[]): Reach {
  const read = (some: readonly SourceFile[]) =>
    new Map(some.map((file) => [file.path, listNamed(file)]));
  return files === undefined ? (whole ??= read(listSourceFiles())) : read(files);
}

/**
 * Lists the files that reach a wanted file, including the wanted ones. Files without source code
 * are also reached through the name of a folder around them.
 */
export function listReaching(reach: Reach, wanted: string[]): Set<string> {
  const users = new Map<string, string[]>();
  for (const [file, named] of reach)
    for (const name of named) users.set(name, [...(users.get(name) ?? []), file]);
  const reaching = new Set<string>();
  const open = [...wanted];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (reaching.has(file)) continue;
    reaching.add(file);
    open.push(...(users.get(file) ?? []));
    if (/\.tsx?$/.test(file)) continue;
    for (let name = posix.dirname(file); name !== '.'; name = posix.dirname(name))
      open.push(...(users.get(name) ?? []));
  }
  return reaching;
}

/** Lists the source files that import one of these, even if only for its types. */
export function listImporters(files: string[]): string[] {
  const wanted = new Set(files);
  const isImporter = (file: SourceFile) =>
    listImports(file).some(({ module }) =>
      wanted.has(posix.join(posix.dirname(file.path), module)),
    );
  return listSourceFiles()
    .filter(isImporter)
    .map(({ path }) => path);
}

/**
 * Returns the tests that a change of these files can reach: all after a change of the packages or
 * of how tests run, otherwise those that reach a changed file. It always includes the house tests,
 * which read the repository.
 */
export function listTestsOfChange(reach: Reach, tests: string[], changed: string[]): string[] {
  if (changed.some((file) => of_all_tests.test(file))) return tests;
  const isBuilt = changed.some((file) => file.startsWith(built.from));
  const reaching = listReaching(reach, isBuilt ? [...changed, built.opened_by] : changed);
  return tests.filter((file) => file.startsWith(reads_everything) || reaching.has(file));
}

/**
 * Lists the files that differ from the point where this branch left `main` (on `main`, from its
 * last commit), with uncommitted and untracked files.
 */
export function listChangedFiles(): string[] {
  const base = git('merge-base', 'HEAD', 'main').trim();
  const lines = [
    git('diff', '--name-only', '--no-renames', base),
    git('ls-files', '--others', '--exclude-standard'),
  ];
  return linesOf(lines);
}

/**
 * Lists the changed files and those of the last commit, which on `main` is the change. Without git
 * or `main`, as in a copy of the sources, the package counts as changed.
 */
export function listRecentFiles(): string[] {
  try {
    const last = git('show', '--name-only', '--no-renames', '--format=', '-m', '--first-parent');
    return [...listChangedFiles(), ...linesOf([last])];
  } catch {
    return ['package.json'];
  }
}

function git(...options: string[]): string {
  return execFileSync('git', options, {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
}

const linesOf = (texts: string[]) =>
  texts.flatMap((text) => text.split('\n')).filter((line) => line !== '');

function listNamed(file: SourceFile): string[] {
  const modules = listImports(file)
    .filter(({ module, is_type }) => module.startsWith('.') && !is_type)
    .map(({ module }) => posix.join(posix.dirname(file.path), module));
  // A template counts with the folder before its first value.
  const literals = [...file.text.matchAll(/(['"`])([\w./-]+)(\1|\$\{)/g)]
    .filter(([, , path = '', end]) => path.includes(end === '${' ? '/' : '.'))
    .map(([, , path = '', end]) => (end === '${' ? posix.dirname(`${path}-`) : path));
  const beside = [...file.text.matchAll(/moduleBeside\(import\.meta, '([^']+)'\)/g)];
  const paths = [...literals, ...beside.map(([, name]) => `${name}.ts`)];
  const named = paths.flatMap((path) => [
    posix.join(posix.dirname(file.path), path),
    posix.normalize(path),
  ]);
  return [...new Set([...modules, ...named.filter(isOfRepository)])];
}

/** A path counts unless it names the whole repository or a place outside it. */
function isOfRepository(path: string): boolean {
  return !/^[./]/.test(path) && statSync(join(root, path), { throwIfNoEntry: false }) !== undefined;
}
