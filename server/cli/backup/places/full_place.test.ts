import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { commandOn, passphrase } from '../../../../test/factories/backups.ts';
import {
  first_hour_at,
  insertAt,
  openDeliveringHarness,
} from '../../../../test/factories/batch_exports/delivering_harness.ts';
import type { TestOrganization } from '../../../../test/harness.ts';
import { UserError } from '../../user_error.ts';
import { createBackup } from '../backup.ts';
import { listBackups } from '../manifest.ts';
import { openPlace } from './open_place.ts';
import { aroundTests } from '../../../../test/around_tests.ts';

let home: TestOrganization;
const delivering = aroundTests(openDeliveringHarness, async (opened) => {
  home = await opened.harness.newOrganization();
});

const insert = (count: number, from: number) =>
  insertAt(
    delivering.harness,
    home,
    Array.from({ length: count }, (_, number) => ({
      event: `event ${number}`,
      happened: from + number,
      taken: from + number,
    })),
  );

const filesIn = ({ stretches }: { stretches: { file: { name: string } | null }[] }) =>
  stretches.flatMap(({ file }) => file?.name ?? []);

test('a backup without space leaves only files that the next one uses', async () => {
  const place = openPlace(join(delivering.folder, 'full'));
  const options = { passphrase, rows_per_file: 100 };
  const source = () => commandOn(delivering.stores, delivering.folder);
  await insert(300, first_hour_at);
  const first = await createBackup(source(), place, options);
  const names = await listBackups(place);
  await insert(150, Date.parse(first.manifest.taken_at) + 1);
  // Until then no backup has them: the seconds in which rows may still come.
  await pause(1_200);
  const full = (missing: RegExp) => ({
    ...place,
    write: async (name: string, bytes: Readable) => {
      if (missing.test(name)) throw new UserError('There is no room left.');
      return place.write(name, bytes);
    },
  });
  for (const missing of [/^control\/.*users/, /^backups\//])
    await assert.rejects(createBackup(source(), full(missing), options), /no room left/);
  assert.deepEqual(await listBackups(place), names);
  const text = await readFile(join(place.name, 'unfinished.json'), 'utf8');
  const kept = filesIn(JSON.parse(text) as Parameters<typeof filesIn>[0]);
  const { manifest } = await createBackup(source(), place, options);
  const used = filesIn(manifest);
  assert.ok(used.length > filesIn(first.manifest).length);
  assert.deepEqual(
    used.filter((name) => !kept.includes(name)),
    [],
  );
  // Neither of the two failed attempts leaves files of the control store.
  const folders = await readdir(join(place.name, 'control'));
  const named = [first.manifest, manifest].flatMap(({ tables }) =>
    tables.flatMap(({ file }) => file?.name.split('/')[1] ?? []),
  );
  assert.deepEqual(folders.toSorted(), [...new Set(named)].toSorted());
});
