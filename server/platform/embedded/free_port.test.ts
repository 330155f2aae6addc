import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { findFreePort } from './free_port.ts';

test('a found port is free, and outside of the range that Linux gives away', async () => {
  const port = await findFreePort();
  const server = createServer();
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  server.close();
  if (process.platform !== 'linux') return;
  const [first] = readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8')
    .trim()
    .split(/\s+/)
    .map(Number);
  assert.ok(port >= 1024 && port < first!, `${port} lies in the range from ${first} on`);
});
