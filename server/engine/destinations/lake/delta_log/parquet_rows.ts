import { zstdCompressSync } from 'node:zlib';
import { lengthBytes, structBytes } from './thrift_writer.ts';
import type { Value } from './thrift_writer.ts';

/** A column that may be null: a value, a map or list of texts, or nested columns. */
export type Shape = {
  name: string;
  of: 'text' | 'long' | 'int' | 'boolean' | 'map' | 'list' | Shape[];
};

/** Rows of one group; the reader of verification accepts no more. */
const group_rows = 50_000;
const magic = Buffer.from('PAR1');
/** Numbers of the format: types, repetitions, converted types, a codec, encodings. */
const types = { boolean: 0, int: 1, long: 2, text: 6 } as const;
const [required, optional, repeated] = [0, 1, 2];
const [utf8, map, key_value, list] = [0, 1, 2, 3];
const zstd = 6;
const [plain, rle] = [0, 3];

/** A column of values, and its largest definition and repetition levels. */
type Leaf = {
  path: string[];
  type: keyof typeof types;
  depth: number;
  repetition: number;
  definitions: number[];
  repetitions: number[];
  values: unknown[];
};

/**
 * Returns a Parquet file of rows with nested columns, for a checkpoint: not every store can write
 * structs that may be null. A `long` is a number or a bigint.
 */
export function parquetOf(shapes: Shape[], rows: Record<string, unknown>[]): Buffer {
  const parts: Buffer[] = [magic];
  let at = magic.length;
  const groups: Value[] = [];
  for (let from = 0; from < rows.length; from += group_rows) {
    const group = rows.slice(from, from + group_rows);
    const begin = at;
    const columns = columnsOf(shapes, group).map((leaf) => {
      const { bytes, facts } = chunkOf(leaf, at);
      parts.push(bytes);
      at += bytes.length;
      return facts;
    });
    groups.push({ 1: columns, 2: BigInt(at - begin), 3: BigInt(group.length) });
  }
  const root = { 4: 'schema', 5: shapes.length };
  const footer = structBytes({
    1: 1,
    2: [root, ...shapes.flatMap((shape) => elementsOf(shape))],
    3: BigInt(rows.length),
    4: groups,
    6: 'Sluice',
  });
  return Buffer.concat([...parts, footer, fourBytes(footer.length), magic]);
}

/** Returns the schema elements of a column, itself first. */
function elementsOf({ name, of }: Shape): Value[] {
  const text = { 1: types.text, 6: utf8 };
  if (of === 'map')
    return [
      { 3: optional, 4: name, 5: 1, 6: map },
      { 3: repeated, 4: 'key_value', 5: 2, 6: key_value },
      { ...text, 3: required, 4: 'key' },
      { ...text, 3: optional, 4: 'value' },
    ];
  if (of === 'list')
    return [
      { 3: optional, 4: name, 5: 1, 6: list },
      { 3: repeated, 4: 'list', 5: 1 },
      { ...text, 3: optional, 4: 'element' },
    ];
  if (of === 'text') return [{ ...text, 3: optional, 4: name }];
  if (typeof of === 'string') return [{ 1: types[of], 3: optional, 4: name }];
  return [{ 3: optional, 4: name, 5: of.length }, ...of.flatMap((inner) => elementsOf(inner))];
}

/** Splits rows into columns, with levels that mark null values and the beginnings of lists. */
function columnsOf(shapes: Shape[], rows: Record<string, unknown>[]): Leaf[] {
  const leaves: Leaf[] = [];
  const open = (path: string[], type: Leaf['type'], depth: number, repetition = 0): Leaf => {
    const leaf = { path, type, depth, repetition, definitions: [], repetitions: [], values: [] };
    leaves.push(leaf);
    return leaf;
  };
  const columns = shapes.map((shape) => columnOf(shape, [], 0, open));
  for (const row of rows)
    for (const [index, { name }] of shapes.entries()) columns[index]!(row[name], 0);
  return leaves;
}

/** Adds the value of a column in the next row; `level` is the depth to which its parents exist. */
type Take = (value: unknown, level: number) => void;
type Open = (path: string[], type: Leaf['type'], depth: number, repetition?: number) => Leaf;

function columnOf({ name, of }: Shape, above: string[], depth: number, open: Open): Take {
  const path = [...above, name];
  if (of === 'map' || of === 'list') return repeatedColumn(of, path, depth, open);
  if (typeof of === 'string') {
    const leaf = open(path, of, depth + 1);
    return (value, level) => note(leaf, 0, isNull(value) ? level : depth + 1, value);
  }
  const children = of.map((inner) => columnOf(inner, path, depth + 1, open));
  return (value, level) => {
    const fields = (value ?? {}) as Record<string, unknown>;
    for (const [index, child] of children.entries())
      child(fields[of[index]!.name], isNull(value) ? level : depth + 1);
  };
}

function repeatedColumn(of: 'map' | 'list', path: string[], depth: number, open: Open): Take {
  const keys = of === 'map' ? [open([...path, 'key_value', 'key'], 'text', depth + 2, 1)] : [];
  const end = of === 'map' ? ['key_value', 'value'] : ['list', 'element'];
  const items = open([...path, ...end], 'text', depth + 3, 1);
  return (value, level) => {
    const entries = Object.entries((value ?? {}) as Record<string, unknown>);
    if (entries.length === 0)
      for (const leaf of [...keys, items]) note(leaf, 0, isNull(value) ? level : depth + 1);
    for (const [index, [key, item]] of entries.entries()) {
      const repetition = index === 0 ? 0 : 1;
      for (const leaf of keys) note(leaf, repetition, depth + 2, key);
      note(items, repetition, isNull(item) ? depth + 2 : depth + 3, item);
    }
  };
}

function note(leaf: Leaf, repetition: number, level: number, value?: unknown): void {
  leaf.repetitions.push(repetition);
  leaf.definitions.push(level);
  if (level === leaf.depth) leaf.values.push(value);
}

function isNull(value: unknown): boolean {
  return value === null || value === undefined;
}

/** Returns a column of a group as one page, and its facts for the footer. */
function chunkOf(leaf: Leaf, at: number): { bytes: Buffer; facts: Value } {
  const { path, type, depth, repetition, definitions, repetitions, values } = leaf;
  const content = Buffer.concat([
    ...(repetition === 0 ? [] : [levelBytes(repetitions)]),
    ...(depth === 0 ? [] : [levelBytes(definitions)]),
    valueBytes(type, values),
  ]);
  const packed = zstdCompressSync(content);
  const page = { 1: definitions.length, 2: plain, 3: rle, 4: rle };
  const header = structBytes({ 1: 0, 2: content.length, 3: packed.length, 5: page });
  const bytes = Buffer.concat([header, packed]);
  const facts = {
    1: types[type],
    2: [plain, rle],
    3: path,
    4: zstd,
    5: BigInt(definitions.length),
    6: BigInt(header.length + content.length),
    7: BigInt(bytes.length),
    9: BigInt(at),
  };
  return { bytes, facts: { 2: BigInt(at), 3: facts } };
}

/** Returns levels, one byte each, as runs after their length. */
function levelBytes(levels: number[]): Buffer {
  const runs: Buffer[] = [];
  for (let from = 0, to = 0; from < levels.length; from = to) {
    while (levels[to] === levels[from]) to += 1;
    runs.push(lengthBytes((to - from) * 2), Buffer.from([levels[from]!]));
  }
  const bytes = Buffer.concat(runs);
  return Buffer.concat([fourBytes(bytes.length), bytes]);
}

function valueBytes(type: Leaf['type'], values: unknown[]): Buffer {
  if (type !== 'boolean')
    return Buffer.concat(values.flatMap((value) => plainBytes(type, value as string)));
  const bits = Buffer.alloc(Math.ceil(values.length / 8));
  for (const [index, value] of values.entries())
    if (value === true) bits[index >> 3] = bits[index >> 3]! | (1 << (index & 7));
  return bits;
}

function plainBytes(type: 'text' | 'long' | 'int', value: string | number | bigint): Buffer[] {
  if (type === 'text')
    return [fourBytes(Buffer.byteLength(String(value))), Buffer.from(String(value))];
  if (type === 'int') return [fourBytes(Number(value))];
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64LE(BigInt(value));
  return [bytes];
}

function fourBytes(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
