import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { listImports, readSourceFile } from '../../../../../test/house/source_files.ts';
import {
  createTar,
  createZip,
  packFiles,
} from '../../../../../test/factories/plugins/plugin_archives.ts';
import type { TarEntry } from '../../../../../test/factories/plugins/plugin_archives.ts';
import { PluginError } from '../../plugin.ts';
import { readArchive } from './archive.ts';
import { package_limits } from '../limits.ts';
import { manifest, many } from '../../../../../test/factories/plugins/hostile_archives.ts';
import { watchThread } from '../../../../../test/processor_time.ts';
import { hostile_tars, pax } from '../../../../../test/factories/plugins/hostile_tars.ts';
import { hostile_zips } from '../../../../../test/factories/plugins/hostile_zips.ts';

const small = {
  packed_bytes_max: 40_000,
  unpacked_bytes_max: 50_000,
  files_max: 20,
  ratio_max: 10,
  ratio_bytes_min: 35_000,
};

const at_start = process.cwd();

let place: string;

before(async () => {
  // Names of archives are relative: whatever unpacked one to where it runs would write here.
  place = await mkdtemp(join(tmpdir(), 'sluice-archives-'));
  process.chdir(place);
});

after(async () => {
  process.chdir(at_start);
  await rm(place, { recursive: true });
});

for (const [name, archive, code, reason] of [...hostile_tars, ...hostile_zips]) {
  test(`refuses: ${name}`, async () => {
    await assert.rejects(readArchive(archive, small), (error) => {
      assert(error instanceof PluginError, String(error));
      assert.equal(error.code, code, error.message);
      assert.match(error.message, reason);
      return true;
    });
    assert.deepEqual(readdirSync(place), []);
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
  const installed = Object.fromEntries(many(2001).map(({ name }) => [`node_modules/${name}`, 'x']));
  const folders: TarEntry[] = [
    { name: 'acme-plugin-1a2b3c4/', type: 'Directory' },
    { name: 'acme-plugin-1a2b3c4/src/', type: 'Directory' },
  ];
  const archives: [string, Buffer][] = [
    ['npm', packFiles(files)],
    [
      'git archive',
      gzipSync(
        createTar([
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
        createTar([
          { name: './', type: 'Directory' },
          ...Object.entries(files).map(([name, content]) => ({ name: `./${name}`, content })),
        ]),
      ),
    ],
    ['tar, not packed', createTar(entries)],
    ['zip', createZip([{ name: 'acme-plugin-1a2b3c4/', mode: 0o040755 }, ...entries])],
    [
      'zip of macOS',
      createZip([...entries, { name: '__MACOSX/acme-plugin-1a2b3c4/._plugin.json', content: 'x' }]),
    ],
    [
      'tar of macOS, beside it what lies in its folder',
      gzipSync(
        createTar([
          { name: './._acme-plugin-1a2b3c4', content: '\0' },
          { name: '.DS_Store', content: '\0' },
          ...entries.flatMap((entry) => [
            { name: entry.name.replace(/[^/]+$/, '._$&'), content: '\0' },
            entry,
          ]),
        ]),
      ),
    ],
    [
      'zip of Windows',
      createZip(
        entries.map((entry) => ({ ...entry, system: 0, name: entry.name.replaceAll('/', '\\') })),
      ),
    ],
    ['tar of a developer', packFiles({ ...files, ...installed }, 'acme-plugin-1a2b3c4')],
    [
      'zip of a developer, with links',
      createZip([
        ...entries,
        { name: 'acme-plugin-1a2b3c4/node_modules/.bin/tsc', content: '../x', mode: 0o120777 },
      ]),
    ],
    ['zip, stored', createZip(entries.map((entry) => ({ ...entry, method: 0, mode: 0o100644 })))],
  ];
  for (const [name, archive] of archives) assert.deepEqual(await readArchive(archive), texts, name);
});

test('a folder that only some files lie in stays, and long names are read', async () => {
  const name = `src/${'long'.repeat(30)}.ts`;
  const archive = gzipSync(
    createTar([{ name: 'plugin.json', content: '{}' }, pax(name), { name: 'short', content: 'x' }]),
  );
  assert.deepEqual(await readArchive(archive), { 'plugin.json': '{}', [name]: 'x' });
});

test('others have their turns while a long archive is read', async () => {
  const folders = Array.from({ length: 20_000 }, (_unused, index) => ({
    name: `package/node_modules/${index}`,
    type: 'Directory' as const,
  }));
  const archive = createTar([{ name: 'package/plugin.json', content: '{}' }, ...folders]);
  const watched = watchThread();
  assert.deepEqual(Object.keys(await readArchive(archive)), ['plugin.json']);
  const { turn_ms } = watched();
  assert.ok(turn_ms < 200, `A turn of the event loop took ${turn_ms} ms of processor.`);
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
    createTar([manifest, { name: 'package/bomb.js', content: Buffer.alloc(11 * 1024 * 1024) }]),
  );
  await assert.rejects(readArchive(bomb), {
    code: 'too_large',
    message: /more than 100 times its packed size/,
  });
  await assert.rejects(readArchive(Buffer.alloc(package_limits.packed_bytes_max + 1)), {
    code: 'too_large',
    message: /larger than 20 MiB/,
  });
  await assert.rejects(readArchive(createZip(many(2001))), {
    code: 'too_large',
    message: /more than 2000 files/,
  });
  assert.equal(Object.keys(await readArchive(createZip(many(2000)))).length, 2000);
});

const inFolder = (name: string) => `archives/${name}`;

test('the readers of archives have no way to the disk', () => {
  const names = ['limits', ...['archive', 'collector', 'file_names', 'tar', 'zip'].map(inFolder)];
  const readers = names.map((name) => readSourceFile(`server/engine/plugins/packages/${name}.ts`));
  const imported = readers.flatMap((reader) => listImports(reader).map(({ module }) => module));
  assert.deepEqual([...new Set(imported.filter((module) => !module.startsWith('.')))].sort(), [
    'node:stream',
    'node:zlib',
    'tar',
    'yauzl',
  ]);
});
