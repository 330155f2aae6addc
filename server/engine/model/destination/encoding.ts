/** Formats of files and objects that users choose. */
export type FileFormat = 'JSONLines' | 'Parquet' | 'CSV' | 'Avro';

/** Compressions that users choose; which ones a format has is said by `compressionsOf`. */
export type Compression = 'gzip' | 'brotli' | 'zstd' | 'snappy' | 'lz4' | 'deflate';

/**
 * The encoding of a slice's bytes. `TabSeparated` is the text that PostgreSQL's COPY reads, with
 * values that PostgreSQL holds; `is_exact` if the database keeps every text unchanged; `is_bare` if
 * it reads instants without T and Z, booleans as 1 and 0, and no number that is not finite;
 * `has_names` if the first line has the names of the columns. `is_unpacked`: the receiver unpacks
 * it at once, so speed counts more than size. `is_flat`: lists and maps are JSON texts, for a
 * receiver whose tables have no columns of them.
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

/** The compressions that a format can have; none is always possible as well. */
export function compressionsOf(format: FileFormat): readonly Compression[] {
  return compressions[format];
}

/** True for a format that is binary and compressed inside, where nothing can be put or unpacked. */
export function isBinary({ format }: Encoding): boolean {
  return format === 'Parquet' || format === 'Avro';
}

/**
 * The end of a file's name, with its dot: `.jsonl.gz`, `.csv`; a Parquet file is `.parquet`
 * whatever its compression, and an Avro file `.avro`.
 */
export function extensionOf(encoding: Encoding): string {
  if (encoding.format === 'TabSeparated') return '.tsv';
  const outer =
    encoding.compression === null || isBinary(encoding)
      ? ''
      : (compressionExtensions[encoding.compression] ?? '');
  return formatExtensions[encoding.format] + outer;
}
