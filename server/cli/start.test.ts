import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { main, serverEnvironment } from '../../test/processes/server_process.ts';

/** Lets the server lack one of its files, as a broken installation does. */
const without_serve = `import { registerHooks } from 'node:module';
registerHooks({ resolve: (specifier, context, next) => {
  if (specifier === './serve.ts') throw new Error('serve.ts is missing');
  return next(specifier, context);
} });`;

test('a server that cannot load stops the stores that it started, and ends', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-start-'));
  const preload = `data:text/javascript,${encodeURIComponent(without_serve)}`;
  const child = spawn(process.execPath, ['--import', preload, main, 'start'], {
    env: serverEnvironment(folder, ''),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  try {
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const [code] = await once(child, 'exit', { signal: AbortSignal.timeout(60_000) });
    assert.match(said, /serve\.ts is missing/);
    assert.equal(code, 1);
    // The stores were started, and nobody holds the folder any more.
    const left = readdirSync(join(folder, 'data'));
    assert.ok(left.includes('postgres') && left.includes('clickhouse'), left.join());
    assert.ok(!left.includes('running.json') && !left.includes('server.lock'), left.join());
  } finally {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
});
