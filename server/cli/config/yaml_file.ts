import { LineCounter, isAlias, isMap, isScalar, isSeq, parseDocument, visit } from 'yaml';
import type { Document, Node, Pair, ParsedNode, Scalar, YAMLError, YAMLMap } from 'yaml';
import type { FileFault, FilePlace, ReadValue } from './places.ts';

/** Largest file in bytes: 5 MiB, the server's limit. */
export const file_size_bytes_max = 5 * 1024 * 1024;
/** Most values of a file after its anchors were expanded. */
const values_max = 100_000;
const depth_max = 64;
/** Faults with a better text than the YAML parser's. */
const details: Partial<Record<YAMLError['code'], string>> = {
  MULTIPLE_DOCS:
    'The file has several documents: put everything after --- into another file, or remove ---.',
  BLOCK_AS_IMPLICIT_KEY:
    'This line is ambiguous: correct its indentation, or quote a text that contains ": ".',
  DUPLICATE_KEY: 'This key occurs twice: remove one of the two.',
};

/** A fault that makes the rest of the file useless. */
class FileRefused extends Error {
  readonly fault: FileFault;
  constructor(fault: FileFault) {
    super(fault.detail);
    this.fault = fault;
  }
}

/**
 * Reads YAML or JSON with the place of each part. Guarantees: all syntax faults are reported at
 * once, with line and column. A repeated key is a fault. Cyclic anchors, and anchors that expand to
 * more than 100,000 values, are reported and not followed.
 */
export function readYaml(file: string, text: string): ReadValue & { faults: FileFault[] } {
  const places = new Map<string, FilePlace>();
  const lines = new LineCounter();
  if (Buffer.byteLength(text) > file_size_bytes_max)
    return {
      value: undefined,
      places,
      faults: [at(file, lines, 0, `The file is larger than ${file_size_bytes_max} bytes.`)],
    };
  const document = parseDocument(text, {
    lineCounter: lines,
    uniqueKeys: true,
    prettyErrors: false,
    // Without this, everything after the first document would be ignored.
    logLevel: 'error',
  });
  const errors = firstOfLines([...document.errors, ...document.warnings], lines);
  const faults = errors.map(({ code, message, pos: [offset] }) => {
    const quote = code === 'MISSING_CHAR' ? quoteBefore(document, offset) : undefined;
    if (quote !== undefined) return at(file, lines, quote, 'The quote here is never closed.');
    const detail = details[code] ?? sentenceOf(message);
    return withHint(at(file, lines, offset, detail), text);
  });
  if (faults.length > 0) return { value: undefined, places, faults };
  const reading: Reading = { file, lines, document, places, values: 0, open: [] };
  try {
    const value = readNode(reading, document.contents, '');
    return { value, places, faults: [] };
  } catch (error) {
    if (!(error instanceof FileRefused)) throw error;
    return { value: undefined, places, faults: [error.fault] };
  }
}

type Reading = {
  file: string;
  lines: LineCounter;
  document: Document.Parsed;
  places: Map<string, FilePlace>;
  values: number;
  /** The nodes around the current one. */
  open: Node[];
};

function readNode(reading: Reading, node: ParsedNode | Node | null, path: string): unknown {
  if (node === null) return null;
  const offset = node.range?.[0] ?? 0;
  reading.values += 1;
  if (reading.values > values_max)
    refuse(reading, offset, `The file has more than ${values_max} values with its anchors.`);
  if (isAlias(node)) {
    const target = node.resolve(reading.document);
    if (target === undefined) return refuse(reading, offset, `There is no anchor ${node.source}.`);
    if (reading.open.includes(target))
      return refuse(reading, offset, `The anchor ${node.source} contains itself: a cycle.`);
    return readNode(reading, target, path);
  }
  if (!reading.places.has(path)) reading.places.set(path, placeAt(reading, offset));
  if (isScalar(node)) return node.value;
  if (reading.open.length >= depth_max)
    refuse(reading, offset, `The file is nested deeper than ${depth_max} levels.`);
  reading.open.push(node);
  const value = isMap(node)
    ? readMap(reading, node, path)
    : isSeq(node)
      ? node.items.map((item, index) => readNode(reading, item as Node, join(path, String(index))))
      : undefined;
  reading.open.pop();
  return value;
}

function readMap(reading: Reading, map: YAMLMap, path: string): Record<string, unknown> {
  const entries: [string, unknown][] = [];
  for (const { key, value } of map.items as Pair<Node, Node | null>[]) {
    const name = isScalar(key) ? nameOf(key) : undefined;
    const offset = key.range?.[0] ?? 0;
    if (name === undefined) return refuse(reading, offset, 'A key must be a string.');
    if (name === '<<') {
      entries.unshift(...mergedEntries(reading, value, path, offset));
      continue;
    }
    // The place of a field is the place of its name.
    reading.places.set(join(path, name), placeAt(reading, offset));
    entries.push([name, readNode(reading, value, join(path, name))]);
  }
  // `fromEntries` keeps a key named __proto__ as a key.
  return Object.fromEntries(entries);
}

/** Returns a key as written: 1e3 is a name here, not a number. */
function nameOf({ value, source }: Scalar): string {
  return typeof value === 'string' ? value : (source ?? String(value));
}

/** Returns the entries that `<<` merges; other entries override them. */
function mergedEntries(
  reading: Reading,
  value: Node | null,
  path: string,
  offset: number,
): [string, unknown][] {
  const sources = isSeq(value) ? (value.items as Node[]).toReversed() : [value];
  return sources.flatMap((source) => {
    const merged = readNode(reading, source, path);
    if (typeof merged !== 'object' || merged === null || Array.isArray(merged))
      return refuse(reading, offset, '<< takes an anchor of a map.');
    return Object.entries(merged);
  });
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

function placeAt({ file, lines }: Reading, offset: number): FilePlace {
  const { line, col } = lines.linePos(offset);
  return { file, line, column: col };
}

function at(file: string, lines: LineCounter, offset: number, detail: string): FileFault {
  const { line, col } = lines.linePos(offset);
  return { file, line: Math.max(1, line), column: Math.max(1, col), detail };
}

/** Returns the start of the unterminated quoted text that ends at the offset. */
function quoteBefore(document: Document.Parsed, offset: number): number | undefined {
  let begin: number | undefined;
  visit(document, {
    Scalar: (_, { type, range }) => {
      if (type?.startsWith('QUOTE_') === true && range?.[1] === offset) [begin] = range;
    },
  });
  return begin;
}

/** Returns the first error of each line, because later ones usually follow from it. */
function firstOfLines<One extends YAMLError>(errors: One[], lines: LineCounter): One[] {
  const told = errors.map(({ pos: [offset] }) => lines.linePos(offset).line);
  return errors.filter((_, index) => told.indexOf(told[index]!) === index);
}

function withHint(fault: FileFault, text: string): FileFault {
  return /[^'"]\$\{/.test(text.split('\n')[fault.line - 1] ?? '')
    ? { ...fault, detail: `${fault.detail} Inside { }, a text with \${...} needs quotes.` }
    : fault;
}

function refuse(reading: Reading, offset: number, detail: string): never {
  throw new FileRefused({ ...placeAt(reading, offset), detail });
}

function sentenceOf(message: string): string {
  const [first = ''] = message.split('\n');
  return first.endsWith('.') ? first : `${first}.`;
}
