import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { chooseBackup, openBackupKeys, readManifest, writeManifest } from './manifest.ts';
import type { Manifest } from './manifest.ts';
import { openFolderPlace } from './places/folder_place.ts';

const passphrase = 'a passphrase of the tests';
const name = '20260101T000000000Z';
const manifest: Manifest = {
  version: 1,
  release: '0.1.0',
  server: 'server',
  taken_at: '2026-01-01T00:00:00.000000Z',
  control_taken_at: '2026-01-01T00:00:00.000000Z',
  finished_at: '2026-01-01T00:00:00.000000Z',
  migrations: [],
  analytics_migrations: [],
  tables: [],
  sequences: [],
  stretches: [],
};

let root: string;

before(async () => {
  root = await mkdtemp(join(tmpdir(), 'sluice-manifest-'));
});

after(() => rm(root, { recursive: true, force: true }));

test('a changed byte of a manifest is damage, also in the sealed keys', async () => {
  const place = openFolderPlace(root);
  await writeManifest(place, manifest, { keys: ['k'], passphrase });
  const path = join(root, 'backups', `${name}.json`);
  const whole = await readFile(path, 'utf8');
  assert.deepEqual(await openBackupKeys(place, await readManifest(place, name), passphrase), ['k']);
  const { keys } = JSON.parse(whole) as { keys: { salt: string; sealed: string } };
  const turn = (text: string) => text.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'));
  for (const changed of [
    whole.replace('server', 'severr'),
    whole.replace(keys.sealed, turn(keys.sealed)),
    whole.replace(keys.salt, turn(keys.salt)),
    whole.replace('"keys_sha256":"', '"keys_sha256":"0'),
  ]) {
    assert.notEqual(changed, whole);
    await writeFile(path, changed);
    await assert.rejects(readManifest(place, name), /is damaged: its manifest has changed/);
  }
  // Older releases wrote no sum of the keys, so both reasons are told.
  await writeFile(path, whole.replace(/"keys_sha256":"[0-9a-f]+",/, ''));
  const older = await readManifest(place, name);
  assert.deepEqual(await openBackupKeys(place, older, passphrase), ['k']);
  await assert.rejects(
    openBackupKeys(place, older, 'another passphrase'),
    /passphrase is not the one .* of an older release are damaged/,
  );
});

test('a backup is chosen by an instant with its zone that exists', async () => {
  const place = openFolderPlace(join(root, 'chosen'));
  await writeManifest(place, manifest, { keys: ['k'], passphrase });
  for (const to of ['2026-01-01', '2026-01-01T02:00+02:00', '2026-01-01 00:00:00Z'])
    assert.equal((await chooseBackup(place, to)).name, name);
  await assert.rejects(chooseBackup(place, '2025-12-31T23:59:59Z'), /No backup in/);
  for (const to of ['2026-01-01T00:00:00', '2026-02-30', '5', 'yesterday'])
    await assert.rejects(chooseBackup(place, to), /--to takes an instant with its zone/);
});
