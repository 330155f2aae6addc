import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { aroundTests } from '../../../test/around_tests.ts';
import { openImporting } from '../../../test/factories/events/importing.ts';
import { startMoto, without_moto } from '../../../test/servers/moto.ts';
import { withVariables } from '../../../test/with_variables.ts';
import { importCommand } from '../import/command.ts';
import { bringFiles } from './history.ts';
import type { HistoryTarget } from './history.ts';

const importing = aroundTests(openImporting);

const row = (number: number) =>
  `${JSON.stringify({
    uuid: `0190163d-8694-739b-aea5-${String(number).padStart(12, '0')}`,
    event: 'paid',
    distinct_id: 'ada',
    timestamp: '2024-01-01 10:00:00.000000',
    properties: '{"price":1.50}',
    person_properties: '{}',
  })}\n`;

test('files of a bucket are brought once, in order', { skip: without_moto }, async () => {
  const owner = await importing.harness.newOrganization();
  const moto = await startMoto();
  const folder = await mkdtemp(join(tmpdir(), 'sluice-history-'));
  const keys = { AWS_ACCESS_KEY_ID: 'moto', AWS_SECRET_ACCESS_KEY: 'moto' };
  const put = async (path: string, body?: string | Uint8Array<ArrayBuffer>) => {
    const request = { method: 'PUT', ...(body === undefined ? {} : { body }) };
    assert.equal((await fetch(`${moto.endpoint}/history${path}`, request)).status, 200);
  };
  try {
    await put('');
    await put('/events/2024/b.jsonl.gz', new Uint8Array(gzipSync(row(1) + row(2))));
    await put('/events/2024/a b.jsonl', row(0) + row(1));
    await put(`/events/${'month=2024-01/'.repeat(30)}c.jsonl`, row(2));
    await put('/events/2024/notes.txt', 'no events');
    await put('/other/c.jsonl', row(9));
    const address = `s3://history/events?region=eu-central-1&endpoint=${moto.endpoint}`;
    const told: string[] = [];
    const target: HistoryTarget = {
      server: { address: importing.url, key: owner.key, project: String(owner.project.id) },
      project: String(owner.project.id),
      key: 'web',
      folder,
      options: { format: 'posthog', timezone: 'UTC' },
      tell: (line) => void told.push(line),
    };
    const bring = () => withVariables(keys, () => bringFiles(target, address));
    assert.equal(await bring(), 0);
    assert.match(told[0]!, /has 3 files of events\.$/);
    assert.match(
      told.join('\n'),
      /a b\.jsonl: 2 events stored.*[^]*b\.jsonl\.gz: 1 event stored, 1 was there already/,
    );
    assert.equal((await importing.rows(owner)).length, 3);
    assert.deepEqual(await readdir(join(folder, 'history')), [], 'copies are left');
    told.length = 0;
    assert.equal(await bring(), 0);
    assert.equal(told.length, 1, 'a file is read again');
  } finally {
    await moto.close();
    await rm(folder, { recursive: true, force: true });
  }
});

test('an import of a folder takes each file once, with its options', async () => {
  const owner = await importing.harness.newOrganization();
  const folder = await mkdtemp(join(tmpdir(), 'sluice-history-'));
  const files = join(folder, 'amplitude');
  const event = (number: number) =>
    `${JSON.stringify({
      event_type: 'paid',
      user_id: `user ${number}`,
      event_time: '2024-01-01 10:00:00.000000',
      $insert_id: `id ${number}`,
      device_id: `device ${number}`,
    })}\n`;
  let told = '';
  const output = { is_terminal: false, columns: 80, write: (text: string) => void (told += text) };
  const flags = {
    url: importing.url,
    key: owner.key,
    project: String(owner.project.id),
    from: 'amplitude' as const,
    timezone: 'UTC',
    folder: join(files, 'list'),
  };
  try {
    await mkdir(join(files, '2024'), { recursive: true });
    await writeFile(join(files, '2024/b.json.gz'), gzipSync(event(2)));
    await writeFile(join(folder, 'c.json'), event(3) + event(3));
    await symlink(join(folder, 'c.json'), join(files, 'c.json'));
    assert.equal(await importCommand(output, files, { ...flags, dryRun: true }), 0);
    assert.equal((await importing.rows(owner)).length, 0);
    assert.equal(await importCommand(output, files, flags), 0);
    assert.match(told, /has 2 files of events\.[^]*b\.json\.gz: 2 events stored/);
    const paid = async () =>
      (await importing.rows(owner)).filter((one) => one.event === 'paid').length;
    assert.equal(await paid(), 2);
    told = '';
    assert.equal(await importCommand(output, files, flags), 0);
    assert.equal(told.trim().split('\n').length, 1, 'a file is read again');
    await writeFile(join(files, 'd.json'), event(4));
    assert.equal(await importCommand(output, files, flags), 0);
    assert.equal(await paid(), 3);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
