import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { aroundTests } from '../../../test/around_tests.ts';
import { commandOn, passphrase } from '../../../test/factories/backups.ts';
import { openDeliveringHarness } from '../../../test/factories/batch_exports/delivering_harness.ts';
import { readConfig } from '../../config/config.ts';
import { backup, createBackup } from './backup.ts';
import { chooseBackup, filesOf } from './manifest.ts';
import { openPlace } from './places/open_place.ts';

const delivering = aroundTests(() => openDeliveringHarness());

test('a check reads a backup whole, needs no store, and finds one changed byte', async () => {
  const place = openPlace(join(delivering.folder, 'checked'));
  const source = commandOn(delivering.stores, delivering.folder);
  await createBackup(source, place, { passphrase, rows_per_file: 120 });
  const said: string[] = [];
  const context = {
    ...source,
    config: { ...readConfig({}), backup_passphrase: passphrase },
    say: (line: string) => void said.push(line),
  };
  const check = { check: true };
  assert.equal(await backup(context, place.name, check), 0);
  assert.match(
    said.join(),
    /^The backup \S+ in .*checked is complete: \d+ files, \d+ bytes, read in /,
  );
  assert.equal(await backup(context, place.name, { ...check, json: true }), 0);
  const { files: count } = JSON.parse(said[1]!) as { files: number };
  const newest = await chooseBackup(place);
  assert.equal(count, filesOf(newest.manifest).length);
  const another = { ...context.config, backup_passphrase: 'a sentence of somebody else' };
  await assert.rejects(backup({ ...context, config: another }, place.name, check), /passphrase/);
  const server = { ...context.config, secret_key: 'k'.repeat(40) };
  await assert.rejects(backup({ ...context, config: server }, place.name, check), /another server/);
  await assert.rejects(backup(context, place.name, { to: '2026-11-30T00:00:00Z' }), /--check/);
  const [file] = filesOf(newest.manifest);
  const path = join(place.name, file!.name);
  const bytes = await readFile(path);
  bytes[bytes.length >> 1]! ^= 1;
  await writeFile(path, bytes);
  await assert.rejects(backup(context, place.name, check), /is missing or has changed/);
});
