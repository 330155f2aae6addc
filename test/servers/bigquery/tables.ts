import { zstdDecompressSync } from 'node:zlib';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';

/** A column as the API describes it. */
export type Field = { name: string; type: string; mode?: string; defaultValueExpression?: string };

/** A value of a row: instants and days are ISO 8601, JSON and decimals are their text. */
export type Value = string | bigint | number | boolean | null;

/** A row by the names of its columns in lower case. */
export type Row = Record<string, Value>;

/** A table of the stand-in. `made_with` is what its creator requested. */
export type StoredTable = {
  type: string;
  fields: Field[];
  rows: Row[];
  made_with: Record<string, unknown>;
};

/** Thrown to end a job with an error: a reason and a message in Google's words. */
export class JobFailure extends Error {
  readonly reason: string;
  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}

const spellings: Record<string, string> = { INT64: 'INTEGER', FLOAT64: 'FLOAT', BOOL: 'BOOLEAN' };

/** Returns the name of a type as tables show it. */
export function typeName(type: string): string {
  return spellings[type] ?? type;
}

const checks: Record<string, (value: Value) => boolean> = {
  STRING: (value) => typeof value === 'string',
  JSON: (value) => typeof value === 'string',
  TIMESTAMP: (value) =>
    typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/.test(value),
  INTEGER: (value) => typeof value === 'bigint',
  DATE: (value) => typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value),
  NUMERIC: (value) =>
    typeof value === 'bigint' || (typeof value === 'string' && /^-?\d{1,29}\.\d{9}$/.test(value)),
  FLOAT: (value) => typeof value === 'number',
  BOOLEAN: (value) => typeof value === 'boolean',
};

/**
 * Returns a whole row of a table; throws if a value has another type than its column, or a required
 * one is missing.
 */
export function checkedRow(fields: Field[], values: Row): Row {
  return Object.fromEntries(
    fields.map((field) => {
      const value = values[field.name.toLowerCase()] ?? null;
      if (value === null && field.mode === 'REQUIRED')
        throw new JobFailure('invalidQuery', `Required field ${field.name} cannot be null`);
      if (value !== null && checks[field.type]?.(value) !== true)
        throw new JobFailure(
          'invalid',
          `Field ${field.name} has type ${field.type}, the value has not`,
        );
      return [field.name.toLowerCase(), value];
    }),
  );
}

/**
 * Returns the text of a value: of an instant by the format with six digits, of JSON by its
 * function, of all others by a cast to STRING. Throws for a cast of JSON or of an instant, whose
 * text would be in the project's time zone.
 */
export function textOf({ name, type }: Field, value: Value, readAs: string): string | null {
  const own = type === 'JSON' || type === 'TIMESTAMP' ? type : 'STRING';
  if (readAs !== own)
    throw new JobFailure('invalidQuery', `No matching signature for the text of ${name}`);
  if (value === null) return null;
  return own === 'TIMESTAMP' ? String(value).replace('T', ' ').replace('Z', '') : String(value);
}

function isoMicroseconds(instant: bigint): string {
  const rest = ((instant % 1_000_000n) + 1_000_000n) % 1_000_000n;
  const seconds = new Date(Number((instant - rest) / 1_000n)).toISOString().slice(0, 19);
  return `${seconds}.${String(rest).padStart(6, '0')}Z`;
}

/**
 * Returns the rows of an uploaded file, typed by the fields of the job; throws for an unreadable
 * one.
 */
export async function rowsOfFile(format: string, bytes: Buffer, fields: Field[]): Promise<Row[]> {
  const raw = format === 'PARQUET' ? await readParquet(bytes) : readLines(bytes);
  const known = new Set(fields.map((field) => field.name));
  return raw.map((row) => {
    const stranger = Object.keys(row).find((name) => !known.has(name));
    if (stranger !== undefined)
      throw new JobFailure('invalid', `Provided Schema does not match: no such field: ${stranger}`);
    return checkedRow(
      fields,
      Object.fromEntries(Object.entries(row).map(([name, value]) => [name.toLowerCase(), value])),
    );
  });
}

async function readParquet(bytes: Buffer): Promise<Row[]> {
  const compressors = { ZSTD: (input: Uint8Array) => new Uint8Array(zstdDecompressSync(input)) };
  try {
    const file = new Uint8Array(bytes).buffer;
    const metadata = parquetMetadata(file);
    const decimals = metadata.schema.filter(({ logical_type }) => logical_type?.type === 'DECIMAL');
    // The reader turns decimals into doubles; their bytes are exact.
    for (const one of decimals)
      Object.assign(one, { logical_type: undefined, converted_type: undefined });
    const rows = (await parquetReadObjects({
      file,
      metadata,
      compressors,
      parsers: {
        timestampFromMicroseconds: isoMicroseconds,
        dateFromDays: (days: number) => new Date(days * 86_400_000).toISOString().slice(0, 10),
      },
    })) as Record<string, Value | Uint8Array>[];
    return rows.map((row) => {
      const exact = decimals.map(({ name, scale = 0 }) => [name, decimalText(row[name], scale)]);
      return { ...row, ...Object.fromEntries(exact) } as Row;
    });
  } catch (error) {
    throw new JobFailure('invalid', `Error while reading data, error message: ${String(error)}`);
  }
}

/** Returns the text of a decimal from its bytes, the highest first, in two's complement. */
function decimalText(bytes: unknown, scale: number): string | null {
  if (!(bytes instanceof Uint8Array)) return null;
  const number = BigInt.asIntN(
    bytes.length * 8,
    BigInt(`0x${Buffer.from(bytes).toString('hex') || '0'}`),
  );
  const digits = String(number < 0n ? -number : number).padStart(scale + 1, '0');
  const at = digits.length - scale;
  return `${number < 0n ? '-' : ''}${digits.slice(0, at)}.${digits.slice(at)}`;
}

function readLines(bytes: Buffer): Row[] {
  const lines = bytes.toString('utf8').split('\n');
  if (lines.pop() !== '')
    throw new JobFailure(
      'invalid',
      'Error while reading data, error message: the last line is cut',
    );
  return lines.map((line) => JSON.parse(line) as Row);
}

/**
 * The documented result of `SAFE.PARSE_JSON`. It is undefined for invalid JSON, for more than 500
 * levels, and for a number that neither 64 bits nor a double hold without loss.
 */
export function safeParseJson(text: string): string | undefined {
  const check = (_key: string, value: unknown, { source }: { source?: string }) => {
    if (typeof value === 'number' && source !== undefined && !isHeld(source))
      throw new Error('lossy');
    return value;
  };
  try {
    const value = (JSON.parse as (text: string, reviver: typeof check) => unknown)(text, check);
    return levelsOf(value) > 500 ? undefined : text;
  } catch {
    return undefined;
  }
}

function isHeld(source: string): boolean {
  if (/^-?\d+$/.test(source) && BigInt(source) >= -(2n ** 63n) && BigInt(source) < 2n ** 64n)
    return true;
  return Number.isFinite(Number(source)) && digitsOf(source) === digitsOf(String(Number(source)));
}

/** Returns a decimal number as its digits without zeros at the ends, and its power of ten. */
function digitsOf(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const short = digits.replace(/0+$/, '');
  return short === ''
    ? '0'
    : `${sign}${short}e${Number(exponent) - fraction.length + digits.length - short.length}`;
}

function levelsOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return (
    1 + Object.values(value).reduce((most: number, inner) => Math.max(most, levelsOf(inner)), 0)
  );
}
