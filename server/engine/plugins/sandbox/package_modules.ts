import { posix } from 'node:path';
import type { PluginFiles } from '../plugin.ts';

/**
 * A separately compiled part of a package: the server's code, the script of a web page, the view in
 * the console.
 */
export type EntryKind = 'server' | 'site' | 'frontend';

const code_endings = ['.ts', '.tsx', '.js', '.jsx', '.mjs', '.cjs', '.mts', '.cts'];
const module_endings = [...code_endings, '.json'];
// TypeScript writes the extension of the compiled file: `./a.js` is a.ts.
const written_endings: Record<string, string[]> = {
  '.js': ['.ts', '.tsx'],
  '.jsx': ['.tsx'],
  '.mjs': ['.mts'],
  '.cjs': ['.cts'],
};

/**
 * Returns the entry file of a part of the package; undefined if the package does not have the part.
 * `main` of the manifest may name a missing file: that name is returned then.
 */
export function findEntry(
  files: PluginFiles,
  main: string | null,
  kind: EntryKind,
): string | undefined {
  if (kind === 'server' && main !== null && main !== '') {
    const path = posix.normalize(main).replace(/\/$/, '');
    return resolveFile(files, path) ?? path;
  }
  // Packages that were built before packing have index.js, often beside its source index.ts.
  const names =
    kind === 'server'
      ? ['.js', ...code_endings].map((ending) => `index${ending}`)
      : code_endings.map((ending) => kind + ending);
  return names.find((file) => Object.hasOwn(files, file));
}

/**
 * Returns the file that `specifier` means in `importer`; undefined unless it is a relative path to
 * a file of the package. No path leads out of the package.
 */
export function resolveModule(
  files: PluginFiles,
  importer: string,
  specifier: string,
): string | undefined {
  if (!/^\.{1,2}(\/|$)/.test(specifier)) return undefined;
  const path = posix.join(posix.dirname(importer), specifier);
  return path.startsWith('..') || path.startsWith('/')
    ? undefined
    : resolveFile(files, path.replace(/\/$/, ''));
}

function resolveFile(files: PluginFiles, path: string): string | undefined {
  const ending = posix.extname(path);
  const as_written = module_endings.includes(ending) ? [path] : [];
  const as_typescript = (written_endings[ending] ?? []).map(
    (other) => path.slice(0, -ending.length) + other,
  );
  const folder = path === '.' ? '' : `${path}/`;
  const candidates = [
    ...as_written,
    ...as_typescript,
    ...module_endings.map((other) => path + other),
    ...module_endings.map((other) => `${folder}index${other}`),
  ];
  return candidates.find((file) => Object.hasOwn(files, file));
}
