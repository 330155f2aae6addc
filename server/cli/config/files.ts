import { isUtf8 } from 'node:buffer';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { isFields } from '../../platform/fields.ts';
import type { Fields } from '../../platform/fields.ts';
import { WrongUsageError } from '../user_error.ts';
import type { FileFault, FilePlace, ReadValue } from './places.ts';
import { resolveReferences } from './references.ts';
import type { Variables } from './references.ts';
import { file_size_bytes_max, readYaml } from './yaml_file.ts';

const text_file = /\.(?:ya?ml|json)$/;
const module_file = /\.(?:ts|mts|js|mjs)$/;

/** An accidentally truncated file would delete nothing, or, with --prune, everything. */
const says_nothing =
  'The file is empty, or has only comments. Write the configuration ({} for none), or delete ' +
  'the file.';

/** A configuration from all files, with the place of each part, or their faults. */
export type FilesRead = ReadValue & { faults: FileFault[] };
/** The same, with the paths of texts that contain a variable. */
export type AllRead = FilesRead & { varied: ReadonlySet<string> };

/**
 * Reads files and folders (all YAML, JSON and modules inside, by name) into one configuration.
 * Guarantee: every fault of a file is reported with its place. An object in two files is a fault.
 */
export async function readFiles(paths: readonly string[], variables: Variables): Promise<AllRead> {
  const files = paths.flatMap((path) => filesOf(path));
  if (files.length === 0)
    throw new WrongUsageError(
      `There is no configuration in ${paths.join(', ')}: name a file or folder with one.`,
    );
  const varied = new Set<string>();
  const result = { value: {}, places: new Map<string, FilePlace>(), faults: [] as FileFault[] };
  for (const file of files) {
    const read = await readOne(file);
    result.faults.push(...read.faults);
    if (read.faults.length > 0) continue;
    if (read.value === null) {
      result.faults.push({ file, line: 1, column: 1, detail: says_nothing });
      continue;
    }
    if (!isFields(read.value)) {
      result.faults.push({ file, line: 1, column: 1, detail: 'A configuration is a map.' });
      continue;
    }
    const resolved = resolveReferences(read, variables);
    result.faults.push(...resolved.faults);
    for (const path of resolved.varied) varied.add(path);
    merge(result, result.value, resolved.value as Fields, '', read.places);
  }
  return { ...result, varied };
}

function filesOf(path: string): string[] {
  let isFolder: boolean;
  try {
    isFolder = statSync(path).isDirectory();
  } catch {
    throw new WrongUsageError(`There is no file or folder ${path}.`);
  }
  if (!isFolder) return [path];
  return readdirSync(path, { withFileTypes: true })
    .filter(({ name }) => !name.startsWith('.') && name !== 'node_modules')
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    .flatMap((entry) => {
      const inner = join(path, entry.name);
      if (entry.isDirectory()) return filesOf(inner);
      return text_file.test(entry.name) || /\.config\.m?[tj]s$/.test(entry.name) ? [inner] : [];
    });
}

async function readOne(file: string): Promise<FilesRead> {
  if (module_file.test(file)) return readModule(file);
  try {
    if (statSync(file).size <= file_size_bytes_max) {
      const bytes = readFileSync(file);
      return isUtf8(bytes) ? readYaml(file, bytes.toString()) : noUtf8(file, bytes);
    }
  } catch (error) {
    throw new WrongUsageError(`${file} cannot be read: ${(error as Error).message}`);
  }
  const detail = `The file is larger than ${file_size_bytes_max} bytes.`;
  return { value: null, places: new Map(), faults: [{ file, line: 1, column: 1, detail }] };
}

/** Bytes of another encoding would be read as other characters. */
function noUtf8(file: string, bytes: Buffer): FilesRead {
  const [before = ''] = bytes.toString().split('\uFFFD', 1);
  const line = before.split('\n').length;
  const detail = 'The file is not valid UTF-8 here: save it as UTF-8.';
  const fault = { file, line, column: before.length - before.lastIndexOf('\n'), detail };
  return { value: null, places: new Map(), faults: [fault] };
}

/** Reads the export of a module, which has no line numbers. */
async function readModule(file: string): Promise<FilesRead> {
  const places = new Map<string, FilePlace>([['', { file, line: 0, column: 0 }]]);
  try {
    const module = (await import(pathToFileURL(file).href)) as Fields;
    const exported = module['default'] ?? module['configuration'];
    // In JSON's form, without functions and instances.
    const value: unknown = JSON.parse(JSON.stringify(exported ?? null));
    note(places, value, '', { file, line: 0, column: 0 });
    if (isFields(value)) return { value, places, faults: [] };
  } catch (error) {
    const detail = `The module cannot be loaded: ${(error as Error).message}`;
    return { value: null, places, faults: [{ ...placeOfError(error as Error, file), detail }] };
  }
  const detail = 'The module must export an object, as its default or as `configuration`.';
  return { value: null, places, faults: [{ file, line: 0, column: 0, detail }] };
}

const error_place = /(?:^|\(|at )(file:\/\/\/[^\n()]+?|\/[^\n()]+?):(\d+)(?::(\d+))?(?=[)\n])/;

/**
 * Returns the place of a module's error, which may be in an imported file. Has no line if Node
 * reports none, as for a syntax error in JavaScript.
 */
function placeOfError({ stack = '' }: Error, file: string): FilePlace {
  const [, at = '', line, column] = error_place.exec(stack) ?? [];
  const path = at.startsWith('file:') ? fileURLToPath(at) : at;
  if (path === '' || path === fileURLToPath(import.meta.url)) return { file, line: 0, column: 0 };
  // Node prints the source lines and a caret before the name of a syntax error.
  const [caret = ''] = /^ *\^/m.exec(stack) ?? [];
  return {
    file: join(dirname(file), relative(dirname(resolve(file)), path)),
    line: Number(line),
    column: Number(column ?? caret.length),
  };
}

function note(
  places: Map<string, FilePlace>,
  value: unknown,
  path: string,
  place: FilePlace,
): void {
  if (path !== '') places.set(path, place);
  if (typeof value !== 'object' || value === null) return;
  for (const [name, inner] of Object.entries(value))
    note(places, inner, path === '' ? name : `${path}.${name}`, place);
}

/**
 * Returns true for levels that two files may share: sections, projects, and the sections of
 * projects.
 */
function isShared(path: string): boolean {
  const steps = path.split('.');
  return steps[0] === 'projects' ? steps.length <= 3 : steps.length === 1;
}

function merge(
  result: FilesRead,
  into: Fields,
  from: Fields,
  prefix: string,
  places: ReadonlyMap<string, FilePlace>,
): void {
  for (const [name, value] of Object.entries(from)) {
    const path = prefix === '' ? name : `${prefix}.${name}`;
    const present = into[name];
    if (!Object.hasOwn(into, name)) {
      into[name] = value;
      keepPlaces(result, path, places);
    } else if (isShared(path) && isFields(present) && isFields(value))
      merge(result, present, value, path, places);
    else if (value !== null || present !== null) {
      const first = result.places.get(path);
      result.faults.push({
        ...(places.get(path) ?? { file: '', line: 0, column: 0 }),
        detail:
          `${path} occurs twice: also at ` +
          `${first === undefined ? 'another place' : `${first.file}:${first.line}`}.`,
      });
    }
  }
}

function keepPlaces(
  { places: kept }: FilesRead,
  path: string,
  places: ReadonlyMap<string, FilePlace>,
): void {
  for (const [inner, place] of places)
    if (inner === path || inner.startsWith(`${path}.`)) kept.set(inner, place);
}
