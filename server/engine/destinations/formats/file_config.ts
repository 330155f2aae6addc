import { Type } from 'typebox';
import { nullable } from '../../../platform/nullable.ts';
import type { ConfigViolation } from '../../model/destination/destination.ts';
import { compressionsOf, fileFormats } from '../../model/destination/encoding.ts';
import type { Compression, Encoding, FileFormat } from '../../model/destination/encoding.ts';
import { hasLooseBrace, prefixVariables, unknownPrefixVariables } from './naming.ts';
import { violation } from '../../model/destination/violation.ts';

const variables = prefixVariables
  .map(({ names, of }) => `{${names.join('}, {')}} from ${of}`)
  .join('; ');

/**
 * The schema of `prefix`; `use` is a sentence about its place in names. It has the variables for
 * partitions, which most people want; a refusal names all.
 */
export function prefixKey(use: string) {
  return Type.String({
    maxLength: 900,
    description:
      `${use} It may contain variables, such as {local_year}, {local_month}, {local_day} and ` +
      '{local_hour}: the start of the interval in the time zone of the export.',
  });
}

/** Compressions of each format, as `JSONLines: gzip, brotli, zstd; CSV: ...`. */
const compressions_said = fileFormats
  .map((format) => `${format}: ${compressionsOf(format).join(', ')}`)
  .join('; ');

/** The config keys that every destination of files or objects has beside its `prefix`. */
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

/** The values of `file_keys`, as far as a user has set them. */
export type FileConfig = {
  prefix: string;
  file_format?: FileFormat;
  compression?: Compression | null;
  max_file_size_mb?: number | null;
};

const bytes_per_mebibyte = 1024 * 1024;

/** The encoding that a config asks for. */
export function fileEncoding(config: FileConfig): Encoding {
  return { format: config.file_format ?? 'JSONLines', compression: config.compression ?? null };
}

/** The bound on a slice's uncompressed bytes, or undefined when the config sets none. */
export function fileSliceBytes(config: FileConfig): number | undefined {
  return config.max_file_size_mb === undefined || config.max_file_size_mb === null
    ? undefined
    : config.max_file_size_mb * bytes_per_mebibyte;
}

/**
 * Violations of the rules that hold for every destination of files: known prefix variables, no
 * control characters, a compression that the format has.
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
