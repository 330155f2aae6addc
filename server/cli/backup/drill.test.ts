import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { only_deep } from '../../../test/depth.ts';
import { eventually } from '../../../test/eventually.ts';
import { commandOn } from '../../../test/factories/backups.ts';
import {
  first_hour_at,
  insertAt,
  openDeliveringHarness,
} from '../../../test/factories/batch_exports/delivering_harness.ts';
import { leastEnvironment } from '../../../test/processes/sluice_process.ts';
import { drill } from './drill.ts';
import { aroundTests } from '../../../test/around_tests.ts';

const main = fileURLToPath(new URL('../../main.ts', import.meta.url));
const delivering = aroundTests(openDeliveringHarness);
const source = () => commandOn(delivering.stores, delivering.folder);

test('a drill that is stopped or killed leaves no copy behind', async () => {
  const temporary = join(delivering.folder, 'temporary');
  await mkdir(temporary);
  const left = async () =>
    (await readdir(temporary)).filter((name) => name.startsWith('sluice-drill-'));
  const stopped = async (signal: 'SIGINT' | 'SIGKILL') => {
    const former = await left();
    const child = spawn(process.execPath, [main, 'drill'], {
      env: { ...leastEnvironment(), ...source().environment, TMPDIR: temporary },
      stdio: 'ignore',
    });
    const exited = once(child, 'exit');
    await eventually('nothing was copied', async () => {
      // The drill removes the folder of the one before it while this looks.
      const names = await readdir(temporary, { recursive: true }).catch(() => []);
      return names.some(
        (name) => name.includes('control') && !former.some((one) => name.startsWith(one)),
      );
    });
    child.kill(signal);
    return exited;
  };
  assert.deepEqual(await stopped('SIGKILL'), [null, 'SIGKILL']);
  assert.equal((await left()).length, 1);
  assert.deepEqual(await stopped('SIGINT'), [130, null]);
  assert.deepEqual(await left(), []);
});

// A drill also opens both stores again; backup.test.ts shows the restore itself.
const drilled = 'a drill restores into stores of its own, and compares every row';
test(drilled, { skip: only_deep }, async () => {
  const home = await delivering.harness.newOrganization();
  await insertAt(
    delivering.harness,
    home,
    Array.from({ length: 600 }, (_, number) => ({
      event: `event ${number}`,
      happened: first_hour_at + number * 1_000,
      taken: first_hour_at + number * 1_000,
    })),
  );
  const context = source();
  assert.equal(await drill(context, {}), 0, context.said.join('\n'));
  const said = context.said.join('\n');
  assert.match(said, /^backup   [\d.]+ s\nrestore  [\d.]+ s\n/);
  assert.match(said, /control store: \d+ tables, \d+ rows compared, 0 differ/);
  assert.match(said, /events: 600 rows compared, 0 differ\npersons: 0 rows compared, 0 differ$/);
});
