import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { call, serverEnvironment, until } from '../../test/processes/server_process.ts';
import { makeApiKey } from '../platform/http/caller/api_key.ts';

const main = fileURLToPath(new URL('../main.ts', import.meta.url));

async function freePort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return String(port);
}

test('at a first start the configured key works as soon as /readyz says 200', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-first-ready-'));
  const key = makeApiKey();
  const SLUICE_PORT = await freePort();
  const address = `http://127.0.0.1:${SLUICE_PORT}`;
  const child = spawn(process.execPath, [main, 'start'], {
    env: serverEnvironment(folder, key, { SLUICE_PORT }),
    stdio: 'ignore',
  });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  try {
    // Without a pause: between listening and the first key lie some 100 ms.
    await until('the server to be ready', 120_000, 0, async () => {
      const { status } = await call(address, '', 'GET', '/readyz').catch(() => ({ status: 0 }));
      return status === 200 ? true : undefined;
    });
    assert.equal((await call(address, key, 'GET', '/api/organizations/@current/')).status, 200);
  } finally {
    child.kill('SIGTERM');
    await exited;
    rmSync(folder, { recursive: true, force: true });
  }
});
