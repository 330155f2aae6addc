/** Formats of files and objects that users choose. */
export type FileFormat = 'JSONLines' | 'Parquet' | 'CSV' | 'Avro';

/** Compressions that users choose; `compressionsOf` lists those of a format. */
export type Compression = 'gzip' | 'brotli' | 'zstd' | 'snappy' | 'lz4' | 'deflate';

/**
 * The encoding of a slice's bytes. `TabSeparated` is the text format of PostgreSQL's COPY, with
 * values that PostgreSQL can store. `is_exact`: the database keeps every text unchanged. `is_bare`:
 * it reads instants without T and Z, booleans as 1 and 0, and only finite numbers. `has_names`: the
 * first line holds the column names. `is_unpacked`: the receiver unpacks the bytes at once, so
 * speed matters more than size. `is_flat`: lists and maps are JSON texts, for a receiver without
 * such column types.
 */
export type Encoding =
  | { format: FileFormat; compression: Compression | null; is_unpacked?: true; is_flat?: true }
  | {
      format: 'TabSeparated';
      compression: 'zstd' | null;
      is_exact?: true;
      is_bare?: true;
      has_names?: true;
      is_unpacked?: true;
    };

/** All file formats, the default first. */
export const fileFormats = [
  'JSONLines',
  'Parquet',
  'CSV',
  'Avro',
] as const satisfies readonly FileFormat[];

const compressions: Record<FileFormat, readonly Compression[]> = {
  JSONLines: ['gzip', 'brotli', 'zstd'],
  CSV: ['gzip', 'brotli', 'zstd'],
  // inside the file, column by column
  Parquet: ['zstd', 'lz4', 'snappy', 'gzip', 'brotli'],
  // inside the file, block by block
  Avro: ['zstd', 'snappy', 'deflate'],
};

const formatExtensions: Record<FileFormat, string> = {
  JSONLines: '.jsonl',
  Parquet: '.parquet',
  CSV: '.csv',
  Avro: '.avro',
};
const compressionExtensions: Partial<Record<Compression, string>> = {
  gzip: '.gz',
  brotli: '.br',
  zstd: '.zst',
};

/** Returns the compressions that a format can have; every format also allows none. */
export function compressionsOf(format: FileFormat): readonly Compression[] {
  return compressions[format];
}

/**
 * Returns true for a binary format with internal compression: its bytes can be neither edited nor
 * unpacked as text.
 */
export function isBinary({ format }: Encoding): boolean {
  return format === 'Parquet' || format === 'Avro';
}

/**
 * Returns the file extension with its dot: `.jsonl.gz`, `.csv`. Parquet and Avro files keep theirs
 * with any compression.
 */
export function extensionOf(encoding: Encoding): string {
  if (encoding.format === 'TabSeparated') return '.tsv';
  const outer =
    encoding.compression === null || isBinary(encoding)
      ? ''
      : (compressionExtensions[encoding.compression] ?? '');
  return formatExtensions[encoding.format] + outer;
}
