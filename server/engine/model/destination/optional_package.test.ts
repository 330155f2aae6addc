import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { missingPackage, optional_packages, requirePackage } from './optional_package.ts';
import type { OptionalPackage } from './optional_package.ts';

test('npm knows the optional packages, at the versions that the server names', () => {
  const text = readFileSync(new URL('../../../../package.json', import.meta.url), 'utf8');
  const manifest = JSON.parse(text) as Record<string, Record<string, unknown>>;
  assert.deepEqual(manifest['peerDependencies'], optional_packages);
  for (const [name, version] of Object.entries(optional_packages)) {
    assert.equal(manifest['devDependencies']?.[name], version, 'the tests need it');
    assert.deepEqual(manifest['peerDependenciesMeta']?.[name], { optional: true });
  }
});

test('a missing package is told with the command that installs it', () => {
  assert.equal(missingPackage('snowflake-sdk'), undefined);
  requirePackage('@azure/storage-blob');
  const absent = 'sluice-absent' as OptionalPackage;
  assert.match(missingPackage(absent)!, /^The package sluice-absent is not installed on this serv/);
  assert.throws(() => requirePackage(absent), {
    code: 'package_missing',
    message: /each server and worker: npm install --no-save sluice-absent@\S+\. No restart/,
  });
});
