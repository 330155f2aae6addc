import { Type } from 'typebox';
import { nullable } from '../../../platform/nullable.ts';
import type { ConfigViolation } from '../../model/destination/destination.ts';
import { compressionsOf, fileFormats } from '../../model/destination/encoding.ts';
import type { Compression, Encoding, FileFormat } from '../../model/destination/encoding.ts';
import {
  event_bytes_max,
  partition_columns,
  partition_keys,
} from '../../model/destination/partition.ts';
import type { PartitionKey } from '../../model/destination/partition.ts';
import type { Delivery } from '../../model/destination/destination.ts';
import type { Column } from '../../model/models/column.ts';
import { hasLooseBrace, prefixVariables, unknownPrefixVariables } from './naming.ts';
import { violation } from '../../model/destination/violation.ts';

const variables = prefixVariables
  .map(({ names, of }) => `{${names.join('}, {')}} from ${of}`)
  .join('; ');

/**
 * Returns the schema of `prefix`; `use` is a sentence about its place in names. It lists the
 * variables for partitions, which most people need; a refusal lists all.
 */
export function prefixKey(use: string) {
  return Type.String({
    maxLength: 900,
    description:
      `${use} It may contain variables, such as {local_year}, {local_month}, {local_day} and ` +
      '{local_hour}: the start of the interval in the time zone of the export.',
  });
}

/** The compressions of each format, as `JSONLines: gzip, brotli, zstd; CSV: ...`. */
const compressions_said = fileFormats
  .map((format) => `${format}: ${compressionsOf(format).join(', ')}`)
  .join('; ');

/** The config keys of files: their format and size. */
export const file_keys = {
  file_format: Type.Optional(
    Type.Unsafe<FileFormat>({
      type: 'string',
      enum: [...fileFormats],
      default: 'JSONLines',
      description: '`JSONLines` files have properties as nested objects.',
    }),
  ),
  compression: Type.Optional(
    nullable(
      Type.Unsafe<Compression>({
        type: 'string',
        enum: [...new Set(fileFormats.flatMap(compressionsOf))],
        default: null,
        description: `${compressions_said}. Parquet files are compressed inside.`,
        wrong_detail: `${compressions_said}; or null.`,
      }),
    ),
  ),
  max_file_size_mb: Type.Optional(
    nullable(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000,
        default: null,
        description:
          'The size before compression. A larger row has a file of its own. If null, the number ' +
          'of rows alone decides when a new file begins.',
      }),
    ),
  ),
};

/** The config keys that every destination of files or objects has in addition to its `prefix`. */
export const placed_file_keys = {
  ...file_keys,
  partition_by: Type.Optional(
    Type.Array(
      Type.Enum([...partition_keys], {
        description: '`date`: the day of `timestamp` in the time zone of the export.',
      }),
      {
        maxItems: partition_keys.length,
        uniqueItems: true,
        default: [],
        description:
          'Writes a file for each day, each event, or each event of each day, into folders ' +
          'as `dt=2026-11-29/event=%24pageview` below the prefix. Empty: no partitions.',
      },
    ),
  ),
};

/** The values of `placed_file_keys` that a user has set. */
export type FileConfig = {
  prefix: string;
  partition_by?: PartitionKey[];
  file_format?: FileFormat;
  compression?: Compression | null;
  max_file_size_mb?: number | null;
  /** True if files may lie in partition folders of a table, whose config names them. */
  is_parted?: true;
};

const bytes_per_mebibyte = 1024 * 1024;

/** Returns the encoding of a config. */
export function fileEncoding(config: FileConfig): Encoding {
  return { format: config.file_format ?? 'JSONLines', compression: config.compression ?? null };
}

/** Returns the partition keys of a config, in the order of their folders. */
export function partitionKeys({ partition_by = [] }: Partial<FileConfig>): PartitionKey[] {
  return partition_keys.filter((key) => partition_by.includes(key));
}

/** Returns true if files of a delivery may lie in folders below its own. */
export function hasFolders(config: FileConfig): boolean {
  return config.is_parted === true || partitionKeys(config).length > 0;
}

/**
 * Returns false if no file of a delivery can exist yet. Files without partitions are found by their
 * prefix, but partitioned ones are among those of all other deliveries, and a search lists all.
 */
export function mayHaveLeftovers(place: { config: FileConfig; delivery: Delivery }): boolean {
  const { delivery_id, run_id, attempt, erased } = place.delivery;
  const isFirst = attempt === 1 && delivery_id === run_id && erased === undefined;
  return !isFirst || !hasFolders(place.config);
}

/** Returns the bound on a slice's uncompressed bytes, or undefined if the config sets none. */
export function fileSliceBytes(config: FileConfig): number | undefined {
  return config.max_file_size_mb === undefined || config.max_file_size_mb === null
    ? undefined
    : config.max_file_size_mb * bytes_per_mebibyte;
}

/** Stores allow keys of 1,024 bytes; the partition folders and the name use the rest. */
const parted_prefix_bytes_max = 1_024 - event_bytes_max - 144;

/** Returns sentences about the columns of an export that files of this config cannot have. */
export function fileColumnFaults(columns: Column[], config: FileConfig): string[] {
  if (fileEncoding(config).format !== 'Avro') return [];
  return columns
    .filter(({ name }) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
    .map(
      ({ name }) =>
        'Avro takes names of the letters a to z, digits and underscores that begin with no ' +
        `digit: give the column \`${name}\` another alias.`,
    );
}

/**
 * Returns the reason why rows of these columns cannot be partitioned by this config, or undefined.
 */
export function partitionFault(
  keys: readonly PartitionKey[],
  columns: readonly Column[],
): string | undefined {
  const lacking = keys
    .map((key) => partition_columns[key])
    .filter(({ name, type }) => !columns.some((column) => isOwn(column, name, type)));
  if (lacking.length === 0) return undefined;
  const names = lacking.map(({ name }) => `\`${name}\``).join(' and ');
  return `Partitions need columns of events: the stored export has no ${names}.`;
}

function isOwn(column: Column, name: string, type: Column['type']): boolean {
  return column.name === name && column.type === type && column.is_calculated !== true;
}

/**
 * Checks the rules of every destination of files: known prefix variables, no control characters, a
 * compression that the format supports.
 */
export function fileViolations(config: FileConfig): ConfigViolation[] {
  const violations: ConfigViolation[] = [];
  const unknown = unknownPrefixVariables(config.prefix);
  if (unknown.length > 0) {
    const names = unknown.map((name) => `{${name}}`).join(', ');
    violations.push(violation('prefix', `${names} is not a variable. Use ${variables}.`));
  }
  if (hasLooseBrace(config.prefix))
    violations.push(
      violation(
        'prefix',
        `The prefix has a brace without its other half. The variables are ${variables}.`,
      ),
    );
  if (hasControlCharacter(config.prefix))
    violations.push(violation('prefix', 'The prefix must not hold control characters.'));
  if (
    partitionKeys(config).includes('event') &&
    Buffer.byteLength(config.prefix) > parted_prefix_bytes_max
  )
    violations.push(
      violation(
        'prefix',
        `With partitions by event, the prefix has at most ${parted_prefix_bytes_max} bytes.`,
      ),
    );
  const { format, compression } = fileEncoding(config);
  const possible = compressionsOf(format as FileFormat);
  if (compression !== null && !possible.includes(compression)) {
    violations.push(
      violation(
        'compression',
        `${format} cannot be compressed with ${compression}. ` +
          `Use ${possible.join(', ')} or null.`,
        'invalid_choice',
      ),
    );
  }
  return violations;
}

function hasControlCharacter(text: string): boolean {
  return Buffer.from(text).some((byte) => byte < 0x20 || byte === 0x7f);
}
