import { createZip } from './plugin_archives.ts';
import type { ZipEntry } from './plugin_archives.ts';
import { flipped, manifest, many } from './hostile_archives.ts';
import type { HostileArchive } from './hostile_archives.ts';

const link = 0o120777;

const zipOf = (...entries: ZipEntry[]) => createZip([manifest, ...entries]);

/** Zips that the server refuses. */
export const hostile_zips: HostileArchive[] = [
  ['an empty zip', createZip([]), 'invalid', /empty/],
  [
    'zip: parent folder',
    zipOf({ name: 'package/../../evil.js' }),
    'invalid',
    /leads out of the package/,
  ],
  ['zip: absolute', zipOf({ name: '/etc/cron.d/evil' }), 'invalid', /absolute path/],
  ['zip: drive', zipOf({ name: 'c:/evil.js' }), 'invalid', /absolute path/],
  ['zip: backslash', zipOf({ name: '..\\..\\evil.js' }), 'invalid', /backslash/],
  [
    'zip: parent folder of Windows',
    zipOf({ name: 'package\\..\\..\\evil.js', system: 0 }),
    'invalid',
    /leads out of the package/,
  ],
  [
    'zip: NUL in a name',
    zipOf({ name: 'package/index.js\0.png' }),
    'invalid',
    /<U\+0000>.*invisible characters/,
  ],
  [
    'zip: symbolic link',
    zipOf({ name: 'package/index.js', content: '/etc/passwd', mode: link }),
    'invalid',
    /a link, "package\/index.js"/,
  ],
  [
    'zip: symbolic link from macOS',
    zipOf({ name: 'package/index.js', content: '/etc/passwd', mode: link, system: 19 }),
    'invalid',
    /a link/,
  ],
  [
    'zip: device',
    zipOf({ name: 'package/zero', mode: 0o020666 }),
    'invalid',
    /neither file nor folder/,
  ],
  [
    'zip: the same name twice',
    zipOf({ name: 'package/plugin.json', content: '{"name":"other"}' }),
    'invalid',
    /two entries named/,
  ],
  [
    'zip: names that differ in case',
    zipOf({ name: 'Package/plugin.json' }),
    'invalid',
    /two entries named/,
  ],
  [
    'zip: two names for one entry',
    zipOf({ name: 'package/good.js', local_name: 'package/evil.js' }),
    'invalid',
    /two names/,
  ],
  [
    'zip: encrypted',
    zipOf({ name: 'package/a.js', content: 'x', flags: 0x801 }),
    'invalid',
    /encrypted/,
  ],
  [
    'zip: unknown method',
    zipOf({ name: 'package/a.js', content: 'x', method: 12 }),
    'invalid',
    /method 12/,
  ],
  [
    'zip: wrong checksum',
    zipOf({ name: 'package/a.js', content: 'hello', crc: 1 }),
    'invalid',
    /checksum/,
  ],
  [
    'zip: size says less',
    zipOf({ name: 'package/a.js', content: 'hello', size: 2 }),
    'invalid',
    /damaged.*too many bytes/,
  ],
  [
    'zip: size says more',
    zipOf({ name: 'package/a.js', content: 'hello', size: 500 }),
    'invalid',
    /damaged.*not enough bytes/,
  ],
  [
    'zip: stored size differs',
    zipOf({ name: 'package/a.js', content: 'hello', method: 0, size: 4 }),
    'invalid',
    /damaged/,
  ],
  [
    'zip: entries that share bytes',
    zipOf({
      name: 'package/plugin2.json',
      same_as: 0,
      content: manifest.content,
      local_name: 'package/plugin.json',
    }),
    'invalid',
    /two names/,
  ],
  [
    'zip: bytes beyond the next entry',
    createZip([
      { name: 'a.js', content: 'hello', packed_size: 60 },
      { name: 'b.js', content: 'b'.repeat(50) },
    ]),
    'invalid',
    /overlap/,
  ],
  [
    'zip: bomb',
    zipOf({ name: 'package/bomb.js', content: Buffer.alloc(5_000_000) }),
    'too_large',
    /unpack/,
  ],
  ['zip: too many files', createZip(many(25)), 'too_large', /more than 20 files/],
  ['zip: the directory says more', createZip([manifest], 7), 'invalid', /damaged/],
  ['zip: cut', zipOf().subarray(0, 60), 'invalid', /damaged/],
  [
    'zip: wrong signature in the directory',
    flipped(zipOf(), zipOf().indexOf('PK\u0001\u0002')),
    'invalid',
    /damaged/,
  ],
];
