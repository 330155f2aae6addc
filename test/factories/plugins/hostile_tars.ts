import { randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { createTar, packFiles } from './plugin_archives.ts';
import type { TarEntry } from './plugin_archives.ts';
import { flipped, manifest, many } from './hostile_archives.ts';
import type { HostileArchive } from './hostile_archives.ts';

const tarOf = (...entries: TarEntry[]) => gzipSync(createTar([manifest, ...entries]));

/** A PAX header that gives the next entry this name. */
export const pax = (name: string): TarEntry => {
  const body = ` path=${name}\n`;
  const length = body.length + String(body.length + 2).length;
  return { name: 'PaxHeader', type: 'ExtendedHeader', content: `${length}${body}` };
};

/** Tars that the server refuses. */
export const hostile_tars: HostileArchive[] = [
  ['no archive', Buffer.from('hello'), 'invalid', /neither a zip archive nor a tar/],
  ['nothing', Buffer.alloc(0), 'invalid', /neither a zip archive nor a tar/],
  ['a page', Buffer.from('<!DOCTYPE html><title>Sign in'), 'invalid', /web page, not an archive/],
  [
    'tar: a plugin.json in another encoding',
    packFiles({ 'plugin.json': Buffer.from('{"name":"Grüße"}', 'latin1') }),
    'invalid',
    /^plugin\.json is not text in UTF-8/,
  ],
  ['an empty tar', gzipSync(createTar([])), 'invalid', /empty/],
  [
    'tar: parent folder',
    tarOf({ name: 'package/../../evil.js' }),
    'invalid',
    /leads out of the package/,
  ],
  [
    'tar: parent folder as a folder',
    tarOf({ name: '../', type: 'Directory' }),
    'invalid',
    /leads out of the package/,
  ],
  [
    'tar: parent folder in a PAX header',
    tarOf(pax('../../evil.js'), { name: 'package/good.js' }),
    'invalid',
    /leads out of the package/,
  ],
  ['tar: absolute', tarOf({ name: '/etc/cron.d/evil' }), 'invalid', /absolute path/],
  ['tar: drive', tarOf({ name: 'C:/evil.js' }), 'invalid', /absolute path/],
  ['tar: backslash', tarOf({ name: 'package\\..\\evil.js' }), 'invalid', /backslash/],
  [
    'tar: symbolic link',
    tarOf({ name: 'package/index.js', type: 'SymbolicLink', target: '/etc/passwd' }),
    'invalid',
    /a link, "package\/index.js"/,
  ],
  [
    'tar: hard link',
    tarOf({ name: 'package/index.js', type: 'Link', target: 'package/plugin.json' }),
    'invalid',
    /a link/,
  ],
  [
    'tar: character device',
    tarOf({ name: 'package/zero', type: 'CharacterDevice' }),
    'invalid',
    /neither file nor folder/,
  ],
  [
    'tar: block device',
    tarOf({ name: 'package/disk', type: 'BlockDevice' }),
    'invalid',
    /neither file nor folder/,
  ],
  [
    'tar: pipe',
    tarOf({ name: 'package/pipe', type: 'FIFO' }),
    'invalid',
    /neither file nor folder/,
  ],
  [
    'tar: the same name twice',
    tarOf({ name: 'package/plugin.json', content: '{"name":"other"}' }),
    'invalid',
    /two entries named/,
  ],
  [
    'tar: names that differ in case',
    tarOf({ name: 'package/Plugin.JSON' }),
    'invalid',
    /two entries named/,
  ],
  [
    'tar: names that differ in composition',
    tarOf({ name: 'package/\u00e9.js' }, { name: 'package/e\u0301.js' }),
    'invalid',
    /two entries named/,
  ],
  [
    'tar: a file that is a folder',
    tarOf({ name: 'package/a' }, { name: 'package/a/b.js' }),
    'invalid',
    /two entries named/,
  ],
  [
    'tar: a folder that is a file',
    tarOf({ name: 'package/a/b.js' }, { name: 'package/A' }),
    'invalid',
    /two entries named/,
  ],
  [
    'tar: text direction turned',
    tarOf({ name: 'package/sj.\u202exedni.js' }),
    'invalid',
    /<U\+202E>.*invisible characters/,
  ],
  [
    'tar: line end in a name',
    tarOf({ name: 'package/a\nb.js' }),
    'invalid',
    /<U\+000A>.*invisible characters/,
  ],
  ['tar: reserved name', tarOf({ name: '__proto__' }), 'invalid', /reserved/],
  ['tar: empty part', tarOf({ name: 'package//a.js' }), 'invalid', /empty part/],
  ['tar: too deep', tarOf({ name: `${'a/'.repeat(30)}b.js` }), 'invalid', /folders deep/],
  ['tar: too many files', tarOf(...many(25)), 'too_large', /more than 20 files/],
  [
    'tar: too many folders',
    tarOf(
      ...Array.from({ length: 25 }, (_, index): TarEntry => ({
        name: `f${index}/`,
        type: 'Directory',
      })),
    ),
    'too_large',
    /more than 20 folders/,
  ],
  [
    'tar: bomb',
    tarOf({ name: 'package/bomb.js', content: Buffer.alloc(5_000_000) }),
    'too_large',
    /unpack/,
  ],
  [
    'tar: bomb behind the end',
    gzipSync(Buffer.concat([createTar([manifest]), Buffer.alloc(5_000_000)])),
    'too_large',
    /unpack/,
  ],
  [
    'tar: large but not packed',
    createTar([manifest, { name: 'package/a.js', content: Buffer.alloc(45_000, 'ab') }]),
    'too_large',
    /archive is larger/,
  ],
  [
    'tar: size says more',
    tarOf({ name: 'package/a.js', content: 'x', size: 40_000 }),
    'invalid',
    /cut short/,
  ],
  [
    'tar: size says gigabytes',
    tarOf({ name: 'package/a.js', content: 'x', size: 8_000_000_000 }),
    'invalid',
    /cut short/,
  ],
  [
    'tar: size says less',
    tarOf({ name: 'package/a.js', content: 'x'.repeat(600), size: 1 }),
    'invalid',
    /damaged/,
  ],
  [
    'tar: wrong checksum of a header',
    gzipSync(flipped(createTar([manifest]), 10)),
    'invalid',
    /damaged.*checksum/,
  ],
  ['tar: cut', gzipSync(createTar([manifest], true)), 'invalid', /cut short/],
  ['tar: cut within gzip', tarOf().subarray(0, 60), 'invalid', /damaged/],
  ['tar: wrong checksum of gzip', flipped(tarOf(), tarOf().length - 6), 'invalid', /damaged/],
  ['tar: packed twice', gzipSync(gzipSync(randomBytes(2000))), 'invalid', /packed twice/],
  [
    'tar: huge extended header',
    tarOf({
      name: 'PaxHeader',
      type: 'ExtendedHeader',
      content: Buffer.from(`9 comment=${'ab'.repeat(4)}\n`.repeat(5)),
      size: 20_000_000,
    }),
    'invalid',
    /extended header/,
  ],
];
