import { transform } from 'esbuild';
import type { Loader, TransformFailure, TransformOptions, TransformResult } from 'esbuild';
import type { PluginFiles, PluginManifest } from '../plugin.ts';
import { top_level_names } from './guest/exported.ts';
import { namedImports } from './named_imports.ts';
import { findEntry, resolveModule } from './package_modules.ts';
import type { EntryKind } from './package_modules.ts';

/** A fault that the author can fix, with its place; lines and columns count from 1. */
export type CompileFault = { message: string; file?: string; line?: number; column?: number };

/** The compiled parts, each null if the package does not have it, or the first fault. */
export type Bundles =
  | { server: string | null; site: string | null; frontend: string | null }
  | { fault: CompileFault };

/** `targets`: import -> file of the package; `needed`: import -> names that it must have. */
type Module = {
  file: string;
  code: string;
  map: string;
  targets: Record<string, string>;
  needed: Record<string, string[]>;
};

const modules_max = 500;
const source_length_max = 5 * 1024 * 1024;
const loaders: Record<string, Loader> = {
  ts: 'ts',
  mts: 'ts',
  cts: 'ts',
  tsx: 'tsx',
  js: 'js',
  mjs: 'js',
  cjs: 'js',
  jsx: 'jsx',
  json: 'json',
};

/**
 * Compiles each part of a package into one text. Every file is compiled separately and linked here:
 * esbuild's bundler would search the server's own file system for an import whose path is an
 * expression. Only `files` are read, and nothing is run.
 *
 * `server` is the body of a function of (module, exports, require) with its source map in a last
 * comment. `site` is an expression whose value is the exports. `frontend` is an expression whose
 * value is a function of `require` that returns the exports.
 */
export async function bundlePackage(
  files: PluginFiles,
  manifest: PluginManifest,
): Promise<Bundles> {
  try {
    const part = async (kind: EntryKind): Promise<Module[] | null> => {
      const entry = findEntry(files, manifest.main, kind);
      return entry === undefined ? null : collect(files, entry, kind);
    };
    const server = await part('server');
    const site = await part('site');
    const frontend = await part('frontend');
    return {
      server: server && linkWithMap(server),
      site:
        site &&
        `(function (require) {\nvar module = { exports: {} };\n${link(site).text}\nreturn ` +
          `module.exports;\n})(${refusal})`,
      frontend:
        frontend &&
        `(function (require) {\nvar module = { exports: {} };\n${link(frontend).text}\nreturn ` +
          'module.exports;\n})',
    };
  } catch (error) {
    if (error instanceof Fault) return { fault: error.fault };
    throw error;
  }
}

const refusal =
  'function (name) { throw new Error("The module " + name + " cannot be used on a web page: ' +
  'put it into the package."); }';

class Fault extends Error {
  readonly fault: CompileFault;
  constructor(fault: CompileFault) {
    super(fault.message);
    this.fault = fault;
  }
}

/** Compiles the entry and every file that it imports; the entry is first. */
async function collect(files: PluginFiles, entry: string, kind: EntryKind): Promise<Module[]> {
  if (!Object.hasOwn(files, entry))
    throw new Fault({
      message:
        `plugin.json names ${entry} as main, and the package has no such file. Build it before ` +
        'packing, or correct main.',
      file: 'plugin.json',
    });
  const names = [entry];
  const modules: Module[] = [];
  let length = 0;
  // The list grows during the loop.
  for (const file of names) {
    length += files[file]!.length;
    if (names.length > modules_max)
      throw new Fault({
        message: `More than ${modules_max} files are imported: combine them.`,
        file,
      });
    if (length > source_length_max)
      throw new Fault({
        message:
          `The imported files have more than ${source_length_max / 1024 / 1024} MiB: make them ` +
          'smaller.',
        file,
      });
    const module = await translate(files, file, kind);
    const isServerEntry = kind === 'server' && file === entry;
    modules.push(isServerEntry ? { ...module, code: `${module.code}\n${unexported}` } : module);
    for (const target of Object.values(module.targets))
      if (!names.includes(target)) names.push(target);
  }
  return modules;
}

/**
 * Old plugins export nothing and define the functions for the platform at the top level. It runs at
 * the end of the entry, in its scope. `typeof` may name missing functions; a separate line keeps
 * the positions of errors.
 */
const unexported = `if (Object.keys(module.exports).length === 0) {\n${top_level_names
  .map((name) => `if (typeof ${name} !== "undefined") module.exports.${name} = ${name};`)
  .join('\n')}\n}`;

async function translate(files: PluginFiles, file: string, kind: EntryKind): Promise<Module> {
  const options = {
    loader: loaders[file.slice(file.lastIndexOf('.') + 1)]!,
    sourcefile: file,
    format: 'cjs',
    platform: 'neutral',
    target: kind === 'server' ? 'es2024' : 'es2020',
    charset: 'utf8',
    sourcemap: kind === 'server' ? 'external' : false,
    sourcesContent: false,
    // `import(x)` becomes a call of `require`, which only knows the package's files.
    supported: { 'dynamic-import': false },
    jsx: 'transform',
    tsconfigRaw: '{}',
    logLevel: 'silent',
  } satisfies TransformOptions;
  // esbuild would read the map that a comment names; the same length keeps the columns.
  const mapless = files[file]!.replaceAll(/([#@]\s*sourceMappingURL)=/g, '$1:');
  // A shebang line would stand in the middle of the linked text, where it is no JavaScript.
  const source = mapless.replace(/^#!/, '//');
  const { code, map } = await transformed(source, options);
  const specifiers = [...code.matchAll(/\brequire\("((?:[^"\\\n]|\\.)*)"\)/g)].map(([, text]) =>
    readText(`"${text}"`),
  );
  const targets = specifiers.flatMap((specifier) => {
    const target = specifier === undefined ? undefined : resolveModule(files, file, specifier);
    return target === undefined ? [] : [[specifier, target] as const];
  });
  const needed = kind === 'server' ? namedImports(source, code) : {};
  return { file, code: code.trimEnd(), map, targets: Object.fromEntries(targets), needed };
}

const as_typescript: Partial<Record<Loader, Loader>> = { js: 'ts', jsx: 'tsx' };

/**
 * Compiles JavaScript, and TypeScript in files named as JavaScript, which packages of plugins have.
 * For a file that is neither, it reports the fault of the attempt that got further.
 */
async function transformed(
  source: string,
  options: TransformOptions & { loader: Loader; sourcefile: string },
): Promise<TransformResult> {
  const { loader, sourcefile } = options;
  const typed = as_typescript[loader];
  try {
    return await transform(source, options);
  } catch (error) {
    const fault = faultOf(error, sourcefile);
    if (!(fault instanceof Fault) || typed === undefined) throw fault;
    return transform(source, { ...options, loader: typed }).catch((other: unknown) => {
      const further = faultOf(other, sourcefile);
      throw further instanceof Fault && isBehind(further.fault, fault.fault) ? further : fault;
    });
  }
}

function isBehind(one: CompileFault, other: CompileFault): boolean {
  const lines = (one.line ?? 0) - (other.line ?? 0);
  return lines > 0 || (lines === 0 && (one.column ?? 0) > (other.column ?? 0));
}

/**
 * Returns the text of a literal; undefined for one that only JavaScript can write, such as "\\x01",
 * which names no file.
 */
function readText(literal: string): string | undefined {
  try {
    return JSON.parse(literal) as string;
  } catch {
    return undefined;
  }
}

function faultOf(error: unknown, file: string): unknown {
  const [first] = (error as Partial<TransformFailure>).errors ?? [];
  if (first === undefined) return error;
  const place = first.location;
  return new Fault({
    message: first.text,
    file: place?.file ?? file,
    ...(place === null ? {} : { line: place.line, column: place.column + 1 }),
  });
}

/**
 * Returns the modules and a loader for them as statements that set `module.exports`, and the line,
 * from 0, on which each module's code begins.
 */
function link(modules: Module[]): { text: string; begins: number[] } {
  const lines = ['var modules = {'];
  const begins: number[] = [];
  for (const { file, code, targets, needed } of modules) {
    lines.push(
      `${JSON.stringify(file)}: [${JSON.stringify(targets)}, function (module, exports, require) {`,
    );
    begins.push(lines.length);
    for (const line of code.split('\n')) lines.push(line);
    lines.push(`}, ${JSON.stringify(needed)}],`);
  }
  lines.push('};', loader, `module.exports = load(${JSON.stringify(modules[0]!.file)});`);
  return { text: lines.join('\n'), begins };
}

const loader = `var loaded = { __proto__: null };
function load(file) {
  if (loaded[file]) return loaded[file].exports;
  var entry = modules[file], module = loaded[file] = { exports: {} };
  entry[1].call(module.exports, module, module.exports, function (name) {
    var is_own = Object.prototype.hasOwnProperty.call(entry[0], name);
    return is_own ? load(entry[0][name]) : require(name, entry[2][name]);
  });
  return module.exports;
}`;

function linkWithMap(modules: Module[]): string {
  const { text, begins } = link(modules);
  const sections = modules.map(({ map }, index) => ({
    offset: { line: begins[index]!, column: 0 },
    map: JSON.parse(map) as unknown,
  }));
  const map = Buffer.from(JSON.stringify({ version: 3, sections })).toString('base64');
  return `${text}\n//# sourceMappingURL=data:application/json;base64,${map}`;
}
