import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from './source_files.ts';

const image = readFileSync(join(root, 'deploy/Dockerfile'), 'utf8');
const [, command = ''] = /^HEALTHCHECK.* CMD (\[.*\])$/m.exec(image) ?? [];

/** Runs the image's health check with these settings, and gives its exit code. */
async function check(settings: Record<string, string>): Promise<unknown> {
  const [program, ...words] = JSON.parse(command) as string[];
  assert.equal(program, 'sluice');
  const main = join(root, 'server/main.ts');
  const child = spawn(process.execPath, [main, ...words], { env: settings, stdio: 'ignore' });
  const [code] = await once(child, 'exit');
  return code;
}

test('the health check of the image asks the address that the settings name', async () => {
  let status = 200;
  const server = createServer((request, response) => {
    response.statusCode = request.url === '/readyz' ? status : 404;
    response.end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const port = String((server.address() as AddressInfo).port);
  try {
    assert.equal(await check({ SLUICE_HOST: '0.0.0.0', SLUICE_PORT: port }), 0);
    assert.equal(await check({ SLUICE_HOST: '127.0.0.1', SLUICE_PORT: port }), 0);
    // A worker alone listens on a port of its own.
    assert.equal(await check({ SLUICE_PORT: '1', SLUICE_WORKER_PORT: port }), 0);
    status = 503;
    assert.equal(await check({ SLUICE_HOST: '::', SLUICE_PORT: port }), 1);
  } finally {
    server.close();
  }
  assert.equal(await check({ SLUICE_PORT: port }), 1);
});

test('the package and the pages name the same oldest Node', () => {
  const read = (path: string) => readFileSync(join(root, path), 'utf8');
  const { engines } = JSON.parse(read('package.json')) as { engines: { node: string } };
  assert.equal(engines.node, '>=20');
  for (const page of ['README.md', 'docs/install.md'])
    assert.match(read(page), /Node 20 or later/, page);
  assert.match(read('.editorconfig'), /^max_line_length = 100$/m);
});
