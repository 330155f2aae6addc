import { openManifest } from '../../destinations/lake/entries.ts';
import type { OpenedManifest } from '../../destinations/lake/entries.ts';
import { readManifestList } from '../../destinations/lake/manifest_list.ts';
import type { ListedManifest } from '../../destinations/lake/manifest_list.ts';
import { UnreadableFileError } from '../../model/destination/table_files.ts';
import type { TableFiles } from '../../model/destination/table_files.ts';

/** Reads a file that the table names. Throws `UnreadableFileError` if it is gone. */
export async function readNamed(files: Pick<TableFiles, 'read'>, uri: string): Promise<Buffer> {
  const content = await files.read(uri);
  if (content === undefined) throw new UnreadableFileError(`The file ${uri} is gone.`);
  return content;
}

/** Reads a manifest list. Throws `UnreadableFileError` for an invalid one of a client. */
export async function readList(files: TableFiles, uri: string): Promise<ListedManifest[]> {
  return listIn(uri, await readNamed(files, uri));
}

/** Parses the manifest list of these bytes. */
export function listIn(uri: string, bytes: Buffer): ListedManifest[] {
  return parsed(uri, 'manifest list', () => readManifestList(bytes));
}

/** Reads a manifest. Throws `UnreadableFileError` for an invalid one of a client. */
export async function readManifest(
  files: TableFiles,
  listed: ListedManifest,
): Promise<OpenedManifest> {
  return manifestIn(listed, await readNamed(files, listed.manifest_path));
}

/** Parses the manifest of these bytes. */
export function manifestIn(listed: ListedManifest, bytes: Buffer): OpenedManifest {
  return parsed(listed.manifest_path, 'manifest', () => openManifest(bytes, listed));
}

function parsed<Result>(uri: string, kind: string, parse: () => Result): Result {
  try {
    return parse();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UnreadableFileError(`The ${kind} ${uri} cannot be read: ${why}`, { cause: error });
  }
}
