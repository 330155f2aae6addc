import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { listImports, listSourceFiles } from '../../../../test/house/source_files.ts';
import { makeTar, makeZip, packFiles } from '../../../../test/factories/plugin_archives.ts';
import type { TarEntry, ZipEntry } from '../../../../test/factories/plugin_archives.ts';
import { PluginError } from '../plugin.ts';
import { readArchive } from './archive.ts';
import { package_limits } from './limits.ts';

const small = {
  packed_bytes_max: 40_000,
  unpacked_bytes_max: 50_000,
  files_max: 20,
  ratio_max: 10,
  ratio_bytes_min: 35_000,
};
const manifest = { name: 'package/plugin.json', content: '{"name":"x"}' };
const link = 0o120777;

const at_start = process.cwd();
let folder: string;

before(async () => {
  // Names of archives are relative: whatever unpacked one to where it runs would write here.
  folder = await mkdtemp(join(tmpdir(), 'sluice-archives-'));
  process.chdir(folder);
});

after(async () => {
  process.chdir(at_start);
  await rm(folder, { recursive: true });
});

const tarOf = (...entries: TarEntry[]) => gzipSync(makeTar([manifest, ...entries]));
const zipOf = (...entries: ZipEntry[]) => makeZip([manifest, ...entries]);
const flipped = (archive: Buffer, at: number) => {
  const copy = Buffer.from(archive);
  copy[at] = copy[at]! ^ 0xff;
  return copy;
};
/** A PAX header that gives the next entry this name. */
const pax = (name: string): TarEntry => {
  const body = ` path=${name}\n`;
  const length = body.length + String(body.length + 2).length;
  return { name: 'PaxHeader', type: 'ExtendedHeader', content: `${length}${body}` };
};
const many = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ name: `package/${index}.js`, content: '1' }));

const hostile: [string, Buffer, PluginError['code'], RegExp][] = [
  ['no archive', Buffer.from('hello'), 'invalid', /neither a zip archive nor a tar/],
  ['nothing', Buffer.alloc(0), 'invalid', /neither a zip archive nor a tar/],
  ['an empty tar', gzipSync(makeTar([])), 'invalid', /empty/],
  ['an empty zip', makeZip([]), 'invalid', /empty/],
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
    /<U\+202E>.*cannot be seen/,
  ],
  [
    'tar: line end in a name',
    tarOf({ name: 'package/a\nb.js' }),
    'invalid',
    /<U\+000A>.*cannot be seen/,
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
    gzipSync(Buffer.concat([makeTar([manifest]), Buffer.alloc(5_000_000)])),
    'too_large',
    /unpack/,
  ],
  [
    'tar: large but not packed',
    makeTar([manifest, { name: 'package/a.js', content: Buffer.alloc(45_000, 'ab') }]),
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
    gzipSync(flipped(makeTar([manifest]), 10)),
    'invalid',
    /damaged.*checksum/,
  ],
  ['tar: cut', gzipSync(makeTar([manifest], true)), 'invalid', /cut short/],
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
    'zip: NUL in a name',
    zipOf({ name: 'package/index.js\0.png' }),
    'invalid',
    /<U\+0000>.*cannot be seen/,
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
    makeZip([
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
  ['zip: too many files', makeZip(many(25)), 'too_large', /more than 20 files/],
  ['zip: the directory says more', makeZip([manifest], 7), 'invalid', /damaged/],
  ['zip: cut', zipOf().subarray(0, 60), 'invalid', /damaged/],
  [
    'zip: wrong signature in the directory',
    flipped(zipOf(), zipOf().indexOf('PK\u0001\u0002')),
    'invalid',
    /damaged/,
  ],
];

for (const [name, archive, code, reason] of hostile) {
  test(`refuses: ${name}`, async () => {
    await assert.rejects(readArchive(archive, small), (error) => {
      assert(error instanceof PluginError, String(error));
      assert.equal(error.code, code, error.message);
      assert.match(error.message, reason);
      return true;
    });
    assert.deepEqual(readdirSync(folder), []);
  });
}

test('reads what npm and the forges pack, zip or tar, without the folder around it', async () => {
  const files = {
    'plugin.json': '{"name":"Grüße"}',
    'src/index.ts': 'export {}\n',
    'empty.txt': '',
    'logo.png': Buffer.from([0x89, 0x50, 0, 1]),
    'latin.txt': Buffer.from([0xe9]),
  };
  const texts = {
    'plugin.json': '{"name":"Grüße"}',
    'src/index.ts': 'export {}\n',
    'empty.txt': '',
  };
  const entries = Object.entries(files).map(([name, content]) => ({
    name: `acme-plugin-1a2b3c4/${name}`,
    content,
  }));
  const folders: TarEntry[] = [
    { name: 'acme-plugin-1a2b3c4/', type: 'Directory' },
    { name: 'acme-plugin-1a2b3c4/src/', type: 'Directory' },
  ];
  const archives: [string, Buffer][] = [
    ['npm', packFiles(files)],
    [
      'git archive',
      gzipSync(
        makeTar([
          {
            name: 'pax_global_header',
            type: 'GlobalExtendedHeader',
            content: '52 comment=0123456789012345678901234567890123456789\n',
          },
          ...folders,
          ...entries,
        ]),
      ),
    ],
    [
      'tar of "."',
      gzipSync(
        makeTar([
          { name: './', type: 'Directory' },
          ...Object.entries(files).map(([name, content]) => ({ name: `./${name}`, content })),
        ]),
      ),
    ],
    ['tar, not packed', makeTar(entries)],
    ['zip', makeZip([{ name: 'acme-plugin-1a2b3c4/', mode: 0o040755 }, ...entries])],
    [
      'zip of macOS',
      makeZip([...entries, { name: '__MACOSX/acme-plugin-1a2b3c4/._plugin.json', content: 'x' }]),
    ],
    ['zip, stored', makeZip(entries.map((entry) => ({ ...entry, method: 0, mode: 0o100644 })))],
  ];
  for (const [name, archive] of archives) assert.deepEqual(await readArchive(archive), texts, name);
});

test('a folder that only some files lie in stays, and long names are read', async () => {
  const name = `src/${'long'.repeat(30)}.ts`;
  const archive = gzipSync(
    makeTar([{ name: 'plugin.json', content: '{}' }, pax(name), { name: 'short', content: 'x' }]),
  );
  assert.deepEqual(await readArchive(archive), { 'plugin.json': '{}', [name]: 'x' });
});

test('reads a stream, and no further than the limit', async () => {
  const archive = packFiles({ 'plugin.json': '{}' });
  async function* parts(count: number) {
    for (let index = 0; index < count; index += 1)
      yield archive.subarray(index * 10, index * 10 + 10);
  }
  assert.deepEqual(await readArchive(parts(Math.ceil(archive.length / 10))), {
    'plugin.json': '{}',
  });
  let given = 0;
  async function* endless() {
    for (;;) {
      given += 1000;
      yield Buffer.alloc(1000);
    }
  }
  await assert.rejects(readArchive(endless(), small), { code: 'too_large' });
  assert.equal(given, 41_000);
});

test('the limits of every package', async () => {
  const bomb = gzipSync(
    makeTar([manifest, { name: 'package/bomb.js', content: Buffer.alloc(60 * 1024 * 1024) }]),
  );
  await assert.rejects(readArchive(bomb), {
    code: 'too_large',
    message: /more than 100 times its packed size/,
  });
  await assert.rejects(readArchive(Buffer.alloc(package_limits.packed_bytes_max + 1)), {
    code: 'too_large',
    message: /larger than 20 MiB/,
  });
  await assert.rejects(readArchive(makeZip(many(2001))), {
    code: 'too_large',
    message: /more than 2000 files/,
  });
  assert.equal(Object.keys(await readArchive(makeZip(many(2000)))).length, 2000);
});

test('the readers of archives have no way to the disk', () => {
  const readers = listSourceFiles().filter(({ path }) =>
    /^server\/engine\/plugins\/packages\/(archive|collector|file_names|limits|tar|zip)\.ts$/.test(
      path,
    ),
  );
  assert.equal(readers.length, 6);
  const imported = readers.flatMap((reader) => listImports(reader).map(({ module }) => module));
  assert.deepEqual([...new Set(imported.filter((module) => !module.startsWith('.')))].sort(), [
    'node:stream',
    'node:zlib',
    'tar',
    'yauzl',
  ]);
});
