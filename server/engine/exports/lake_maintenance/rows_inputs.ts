import { Readable } from 'node:stream';
import { parquetMetadata } from 'hyparquet';
import type { ParquetInput } from '../../destinations/formats/parquet/read_parquet.ts';
import type { Lineage } from '../../destinations/lake/row_lineage.ts';
import type { SchemaField } from '../../destinations/lake/schema.ts';
import type { ValueRow } from '../../model/destination/content_source.ts';
import type { TableFiles } from '../../model/destination/table_files.ts';
import { readNamed } from './read_table.ts';

/** A data file to read, with its row count from the manifest and the row ids to keep. */
export type SourceFile = { path: string; records: number } & Partial<Lineage>;

/** Thrown if rows cannot be rewritten; the message is a sentence. */
export class UnfitFilesError extends Error {
  override readonly name = 'UnfitFilesError';
}

/**
 * Yields the files' inputs by field id, because columns may have been renamed, or by name in a
 * format without ids.
 */
export async function* inputsOf(
  files: Pick<TableFiles, 'read'>,
  fields: SchemaField[],
  sources: readonly { path: string }[],
  by_name = false,
): AsyncGenerator<ParquetInput> {
  for (const { path } of sources) {
    const bytes = await readNamed(files, path);
    const names = (by_name ? ownNames : namesById)(path, elementsIn(bytes), fields);
    yield { bytes: Readable.from([bytes]), names };
  }
}

type Element = ReturnType<typeof parquetMetadata>['schema'][number];

function elementsIn(bytes: Buffer): Element[] {
  const tail = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  return parquetMetadata(tail as ArrayBuffer).schema.slice(1);
}

/** Returns the names of the fields in a file; null for a missing field. */
function namesById(path: string, elements: Element[], fields: SchemaField[]): (string | null)[] {
  const by_id = new Map<number, string>();
  for (const { name, field_id, num_children } of elements) {
    if (field_id === undefined || num_children !== undefined)
      throw new UnfitFilesError(`The file ${path} has columns without ids, or nested ones.`);
    by_id.set(field_id, name);
  }
  return fields.map(({ id }) => by_id.get(id) ?? null);
}

/** Returns the fields that a file has under their own names. */
function ownNames(path: string, elements: Element[], fields: SchemaField[]): (string | null)[] {
  if (elements.some(({ num_children }) => num_children !== undefined))
    throw new UnfitFilesError(`The file ${path} has nested columns.`);
  const own = new Set(elements.map(({ name }) => name));
  return fields.map(({ name }) => (own.has(name) ? name : null));
}

/** Yields the rows with their inherited id and sequence number, which are their last two values. */
export async function* withLineage(
  given: AsyncIterable<{ rows: ValueRow[]; file: number }>,
  sources: readonly SourceFile[],
): AsyncGenerator<{ rows: ValueRow[]; file: number }> {
  const places = new Map<number, bigint>();
  for await (const { rows, file } of given) {
    const { first_row_id = null, sequence_number } = sources[file]!;
    const first = places.get(file) ?? 0n;
    places.set(file, first + BigInt(rows.length));
    const inherited = (index: number) =>
      first_row_id === null ? null : String(first_row_id + first + BigInt(index));
    yield {
      file,
      rows: rows.map((row, index) => [
        ...row.slice(0, -2),
        row.at(-2) ?? inherited(index),
        row.at(-1) ?? String(sequence_number),
      ]),
    };
  }
}
