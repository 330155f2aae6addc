import { crc32 } from 'node:zlib';
import yauzl from 'yauzl';
import type { Entry, ZipFile } from 'yauzl';
import { PluginError, invalidPackage } from '../../plugin.ts';
import type { Collector } from './collector.ts';
import { isLeftOut, showName } from './file_names.ts';

type Listed = { entry: Entry; name: string; start: number; end: number };

const dos_system = 0;
const unix_systems = new Set([3, 19]);
const file_kind_mask = 0o170000;
const file_kinds = new Set([0, 0o100000, 0o040000]);
const link_kind = 0o120000;

/**
 * Reads a zip archive into the collector. Guarantee: as `readArchive`; sizes, checksums and local
 * headers agree with the directory of the archive, and no two entries share bytes.
 */
export async function readZip(archive: Buffer, collector: Collector): Promise<void> {
  try {
    // Names stay bytes: yauzl would turn backslashes into slashes or refuse them in its own words.
    const zip = await yauzl.fromBufferPromise(archive, {
      decodeStrings: false,
      validateEntrySizes: true,
    });
    const files = await list(zip, collector);
    checkOverlaps(files);
    for (const file of files) collector.keep(file.name, await read(zip, file, collector));
  } catch (error) {
    if (error instanceof PluginError) throw error;
    throw invalidPackage(
      `The zip archive is damaged (${(error as Error).message.replace(/\.$/, '')}). ` +
        'Create it again.',
      { cause: error },
    );
  }
}

async function list(zip: ZipFile, collector: Collector): Promise<Listed[]> {
  const files: Listed[] = [];
  for await (const entry of zip.eachEntry()) {
    const given = nameOf(entry);
    if (isLeftOut(given)) continue;
    checkEntry(entry, given);
    const name = collector.add(given.endsWith('/') ? 'folder' : 'file', given);
    const local = await zip.readLocalFileHeaderPromise(entry);
    if (!local.fileName.equals(entry.fileNameRaw))
      throw invalidPackage(
        `The zip archive has two names for the entry ${showName(given)}. Create it again.`,
      );
    if (given.endsWith('/')) continue;
    files.push({
      entry,
      name,
      start: entry.relativeOffsetOfLocalHeader,
      end: local.fileDataStart + entry.compressedSize,
    });
  }
  return files;
}

/** On DOS, a backslash separates folders, and Windows programs write it. */
function nameOf(entry: Entry): string {
  const { generalPurposeBitFlag, fileNameRaw, extraFields, versionMadeBy } = entry;
  const name = yauzl.getFileNameLowLevel(generalPurposeBitFlag, fileNameRaw, extraFields, true);
  return versionMadeBy >>> 8 === dos_system ? name.replaceAll('\\', '/') : name;
}

function checkEntry(entry: Entry, name: string): void {
  const kind = unix_systems.has(entry.versionMadeBy >>> 8)
    ? (entry.externalFileAttributes >>> 16) & file_kind_mask
    : 0;
  if (kind === link_kind)
    throw invalidPackage(
      `The zip archive has a link, ${showName(name)}. Put a copy of the file in its place.`,
    );
  if (!file_kinds.has(kind))
    throw invalidPackage(
      `The zip archive has an entry that is neither file nor folder, ${showName(name)}. Leave ` +
        'it out.',
    );
  if (entry.isEncrypted())
    throw invalidPackage(
      `The file ${showName(name)} of the zip archive is encrypted. Create the archive without a ` +
        'password.',
    );
  if (!entry.canDecodeFileData())
    throw invalidPackage(
      `The file ${showName(name)} of the zip archive is packed by method ` +
        `${entry.compressionMethod}. Pack it with Deflate or store it.`,
    );
}

/** With shared bytes, a small archive could unpack to a huge one. */
function checkOverlaps(files: Listed[]): void {
  const inOrder = files.toSorted((one, other) => one.start - other.start);
  for (const [index, file] of inOrder.entries()) {
    const before = inOrder[index - 1];
    if (before !== undefined && file.start < before.end)
      throw invalidPackage(
        `The entries ${showName(before.name)} and ${showName(file.name)} of the zip archive ` +
          'overlap. Create it again.',
      );
  }
}

async function read(zip: ZipFile, { entry, name }: Listed, collector: Collector): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of await zip.openReadStreamPromise(entry)) {
    collector.count((chunk as Buffer).length);
    chunks.push(chunk as Buffer);
  }
  const content = Buffer.concat(chunks);
  if (crc32(content) !== entry.crc32)
    throw invalidPackage(
      `The checksum of the file ${showName(name)} in the zip archive is wrong. Create it again.`,
    );
  return content;
}
