import { crc32, deflateRawSync, gzipSync } from 'node:zlib';
import { Header } from 'tar';

/** One entry of a tar archive; `size` is the size in its header if that is wrong. */
export type TarEntry = {
  name: string;
  content?: string | Buffer;
  type?: Header['type'];
  target?: string;
  size?: number;
};

/** An entry of a zip archive. Fields besides name and content replace the true values. */
export type ZipEntry = {
  name: string | Buffer;
  content?: string | Buffer;
  /** Mode bits of Unix, with the kind of the entry. */
  mode?: number;
  system?: number;
  flags?: number;
  method?: number;
  crc?: number;
  size?: number;
  packed_size?: number;
  local_name?: string;
  /** Index of an earlier entry whose bytes this one reuses. */
  same_as?: number;
};

/** A tar archive, uncompressed. It has its end unless `is_cut`. */
export function createTar(entries: TarEntry[], is_cut = false): Buffer {
  const parts = entries.flatMap(({ name, content = '', type = 'File', target, size }) => {
    const body = Buffer.from(content);
    const head = Buffer.alloc(512);
    const header = new Header({
      path: name,
      mode: 0o644,
      size: size ?? body.length,
      type,
      mtime: new Date(0),
      linkpath: target ?? '',
    });
    header.encode(head, 0);
    return [head, body, Buffer.alloc((512 - (body.length % 512)) % 512)];
  });
  return Buffer.concat(is_cut ? parts : [...parts, Buffer.alloc(1024)]);
}

/** A package of these files as npm and the forges serve it: all in one folder, as tar.gz. */
export function packFiles(files: Record<string, string | Buffer>, folder = 'package'): Buffer {
  return gzipSync(
    createTar(
      Object.entries(files).map(([name, content]) => ({ name: `${folder}/${name}`, content })),
    ),
  );
}

/** A zip archive whose directory claims `count` entries. */
export function createZip(entries: ZipEntry[], count = entries.length): Buffer {
  const parts: Buffer[] = [];
  const starts: number[] = [];
  const directory: Buffer[] = [];
  let position = 0;
  for (const entry of entries) {
    const packed = packEntry(entry);
    const start = entry.same_as === undefined ? position : starts[entry.same_as]!;
    starts.push(start);
    directory.push(directoryRecord(entry, packed, start));
    if (entry.same_as !== undefined) continue;
    const local = localRecord(entry, packed);
    parts.push(local, packed.body);
    position += local.length + packed.body.length;
  }
  const records = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(count, 8);
  end.writeUInt16LE(count, 10);
  end.writeUInt32LE(records.length, 12);
  end.writeUInt32LE(position, 16);
  return Buffer.concat([...parts, records, end]);
}

type Packed = { body: Buffer; crc: number; size: number; packed_size: number; method: number };

function packEntry(entry: ZipEntry): Packed {
  const content = Buffer.from(entry.content ?? '');
  const method = entry.method ?? 8;
  const body = method === 8 ? deflateRawSync(content) : content;
  return {
    body,
    method,
    crc: entry.crc ?? crc32(content),
    size: entry.size ?? content.length,
    packed_size: entry.packed_size ?? body.length,
  };
}

function localRecord(entry: ZipEntry, packed: Packed): Buffer {
  const name = Buffer.from(entry.local_name ?? entry.name);
  const record = Buffer.alloc(30);
  record.writeUInt32LE(0x04034b50, 0);
  record.writeUInt16LE(20, 4);
  writeSizes(record, 6, entry, packed);
  record.writeUInt16LE(name.length, 26);
  return Buffer.concat([record, name]);
}

function directoryRecord(entry: ZipEntry, packed: Packed, start: number): Buffer {
  const name = Buffer.from(entry.name);
  const record = Buffer.alloc(46);
  record.writeUInt32LE(0x02014b50, 0);
  record.writeUInt16LE(((entry.system ?? 3) << 8) | 20, 4);
  record.writeUInt16LE(20, 6);
  writeSizes(record, 8, entry, packed);
  record.writeUInt16LE(name.length, 28);
  record.writeUInt32LE(((entry.mode ?? 0) << 16) >>> 0, 38);
  record.writeUInt32LE(start, 42);
  return Buffer.concat([record, name]);
}

/** Flags, method, time, checksum and sizes, which both records have in the same order. */
function writeSizes(record: Buffer, at: number, entry: ZipEntry, packed: Packed): void {
  record.writeUInt16LE(entry.flags ?? 0x800, at);
  record.writeUInt16LE(packed.method, at + 2);
  record.writeUInt32LE(packed.crc, at + 8);
  record.writeUInt32LE(packed.packed_size, at + 12);
  record.writeUInt32LE(packed.size, at + 16);
}
