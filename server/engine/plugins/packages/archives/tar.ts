import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { Parser } from 'tar';
import type { ReadEntry } from 'tar';
import { openTurns } from '../../../../platform/pacing/turns.ts';
import { PluginError, invalidPackage } from '../../plugin.ts';
import type { Collector } from './collector.ts';
import { isLeftOut, showName } from './file_names.ts';

const block_bytes = 512;
/** Bytes to read before other work gets a turn. */
const chunk_bytes = 64 * 1024;
const meta_bytes_max = 64 * 1024;
const file_types = new Set(['File', 'OldFile', 'ContiguousFile']);
const link_types = new Set(['Link', 'SymbolicLink']);

/**
 * Reads a tar archive into the collector. Guarantee: as `readArchive`; its headers' checksums are
 * correct, and it ends with its end mark.
 */
export async function readTar(
  archive: Buffer,
  is_gzip: boolean,
  collector: Collector,
): Promise<void> {
  try {
    const parser = new Parser({ strict: true, maxMetaEntrySize: meta_bytes_max });
    const state = { is_ended: false };
    const turn = openTurns();
    parser.on('entry', (entry: ReadEntry) => collect(entry, collector));
    parser.on('ignoredEntry', (entry: ReadEntry) => refuse(entry));
    parser.on('error', (error: Error) => {
      throw error;
    });
    parser.on('eof', () => {
      state.is_ended = true;
    });
    for await (const chunk of unpack(archive, is_gzip, collector)) {
      // Bytes after the end are unpacked, so that their size counts, and discarded: the parser
      // would accumulate them.
      if (!state.is_ended) parser.write(chunk);
      const pause = turn();
      if (pause !== undefined) await pause;
    }
    if (!state.is_ended)
      throw invalidPackage('The tar archive is cut short: its end is missing. Create it again.');
  } catch (error) {
    if (error instanceof PluginError) throw error;
    throw invalidPackage(
      `The tar archive is damaged (${(error as Error).message.replace(/\.$/, '')}). ` +
        'Create it again.',
      { cause: error },
    );
  }
}

/**
 * Yields the archive's blocks and counts them. The first chunk has at least a whole block, from
 * which the parser decides whether the archive is compressed twice.
 */
async function* unpack(
  archive: Buffer,
  is_gzip: boolean,
  collector: Collector,
): AsyncGenerator<Buffer> {
  const source = Readable.from(chunksOf(archive));
  let head: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of is_gzip ? source.pipe(createGunzip()) : source) {
    collector.count((chunk as Buffer).length);
    if (head === undefined) {
      yield chunk as Buffer;
      continue;
    }
    head = Buffer.concat([head, chunk as Buffer]);
    if (head.length < block_bytes) continue;
    if (isPacked(head)) throw invalidPackage('The archive is packed twice. Pack it once.');
    yield head;
    head = undefined;
  }
}

function* chunksOf(archive: Buffer): Generator<Buffer> {
  for (let at = 0; at < archive.length; at += chunk_bytes)
    yield archive.subarray(at, at + chunk_bytes);
}

function isPacked(head: Buffer): boolean {
  return (head[0] === 0x1f && head[1] === 0x8b) || head.readUInt32BE(0) === 0x28b52ffd;
}

function collect(entry: ReadEntry, collector: Collector): void {
  if (isLeftOut(entry.path)) {
    entry.resume();
    return;
  }
  if (entry.type === 'Directory') {
    // `tar -C folder .` has the folder itself as "./".
    if (!/^\.\/?$/.test(entry.path)) collector.add('folder', entry.path);
    entry.resume();
    return;
  }
  if (!file_types.has(entry.type)) refuse(entry);
  const name = collector.add('file', entry.path);
  const chunks: Buffer[] = [];
  entry.on('data', (chunk: Buffer) => chunks.push(chunk));
  entry.on('end', () => collector.keep(name, Buffer.concat(chunks)));
}

function refuse(entry: ReadEntry): never {
  if (link_types.has(entry.type))
    throw invalidPackage(
      `The tar archive has a link, ${showName(entry.path)}. Put a copy of the file in its place.`,
    );
  if (entry.meta)
    throw invalidPackage(
      'The tar archive has an extended header that is larger than 64 KiB. Create it again.',
    );
  throw invalidPackage(
    `The tar archive has an entry that is neither file nor folder, ${showName(entry.path)} ` +
      `(${entry.type}). Leave it out.`,
  );
}
