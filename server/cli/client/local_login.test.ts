import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { folderAroundTests } from '../../../test/around_tests.ts';
import { serverEnvironment, startServer } from '../../../test/processes/server_process.ts';
import type { ServerProcess } from '../../../test/processes/server_process.ts';
import { runSluice } from '../../../test/processes/sluice_process.ts';

const folder = folderAroundTests();
let server: ServerProcess;
before(async () => {
  const { SLUICE_OWNER_API_KEY: _none, ...environment } = serverEnvironment(folder, '');
  server = await startServer(['start'], environment);
});
after(() => server.stop());

test('beside the server of a folder login needs no key, and the next command works', async () => {
  const { port } = new URL(server.address);
  const own = {
    XDG_CONFIG_HOME: join(folder, 'xdg'),
    SLUICE_DATA_DIR: join(folder, 'data'),
    SLUICE_PORT: port,
  };
  const entered = await runSluice(['login'], own);
  assert.equal(entered.code, 0, entered.err);
  assert.match(entered.out, /^Signed in to http:\/\/127\.0\.0\.1:\d+ as owner@example\.com\.$/m);
  assert.doesNotMatch(entered.out + entered.err, /slk_/);
  // From any folder, without settings.
  const { XDG_CONFIG_HOME } = own;
  const create = 'exports create first --to file --every 5m -c prefix=first'.split(' ');
  assert.equal((await runSluice(create, { XDG_CONFIG_HOME })).code, 0);
  const listed = await runSluice(['exports', 'list'], { XDG_CONFIG_HOME });
  assert.match(listed.out, /^first\tFile\tevery 5 minutes\t/);
  // Once more it keeps the key, and creates no second one.
  assert.equal((await runSluice(['login'], own)).code, 0);
  const keys = await runSluice(['key', 'list', '--json'], own);
  const labels = (JSON.parse(keys.out) as { label: string }[]).map(({ label }) => label);
  assert.deepEqual(
    labels.filter((label) => label.startsWith('sluice login, ')).length,
    1,
    labels.join(),
  );
  // Without a server no key is created.
  const away = await runSluice(['login'], { ...own, SLUICE_PORT: '9' });
  assert.deepEqual([away.code, /cannot be reached/.test(away.err)], [3, true]);
});
