import assert from 'node:assert/strict';
import { chmodSync, existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { lookAtFolder, createFolders, createFoldersSync } from './folders.ts';
import { folderAroundTests } from '../../../test/around_tests.ts';

const folder = folderAroundTests();

test('folders are created with those above them, and again without harm', async () => {
  const deep = join(folder, 'a', 'b', 'c');
  createFoldersSync(deep, 0o700);
  createFoldersSync(deep, 0o700);
  assert.deepEqual(
    [deep, join(folder, 'a')].map((path) => statSync(path).mode & 0o777),
    [0o700, 0o700],
  );
  // Several at once each find what the others have created in between.
  for (let round = 0; round < 50; round += 1) {
    const deepest = join(folder, `x${round}`, 'y', 'z');
    await Promise.all(Array.from({ length: 8 }, () => createFolders(deepest)));
    assert.ok(statSync(deepest).isDirectory());
  }
  writeFileSync(join(folder, 'file'), '');
  for (const path of [join(folder, 'file'), join(folder, 'file', 'below')]) {
    assert.throws(() => createFoldersSync(path), /EEXIST|ENOTDIR/);
    await assert.rejects(createFolders(path), /EEXIST|ENOTDIR/);
  }
});

test('creating a folder ends where none can be created, unlike mkdir of Node', async () => {
  assert.throws(() => createFoldersSync('/proc/sluice/exports'), { code: 'ENOENT' });
  await assert.rejects(createFolders('/proc/sluice/exports'), { code: 'ENOENT' });
});

test('a look at a folder creates none, and says why one cannot be used', () => {
  const absent = join(folder, 'not', 'yet');
  assert.deepEqual(
    { ...lookAtFolder(absent), free_bytes: 0 },
    {
      exists: false,
      free_bytes: 0,
      is_out_of_inodes: false,
    },
  );
  assert.equal(existsSync(join(folder, 'not')), false);
  const here = lookAtFolder(folder);
  assert.ok(here.problem === undefined && here.exists && here.free_bytes > 0);
  assert.match(lookAtFolder('/proc/x/y').problem!, /^\/proc is the kernel's own/);
  writeFileSync(join(folder, 'plain'), '');
  assert.equal(
    lookAtFolder(join(folder, 'plain', 'below')).problem,
    `${join(folder, 'plain')} is not a folder`,
  );
});

test(
  'a folder without the right to write is named',
  { skip: process.getuid?.() === 0 && 'root may write everywhere' },
  () => {
    chmodSync(folder, 0o500);
    assert.match(lookAtFolder(join(folder, 'in')).problem!, /cannot be written \(EACCES\)/);
    chmodSync(folder, 0o700);
  },
);
