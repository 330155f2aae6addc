import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { after, before, test } from 'node:test';
import type { AddressInfo } from 'node:net';
import { openDatabase } from './database.ts';
import { listen } from '../../../test/servers/loopback.ts';

// A server that is told to end may say so in the same packet as its greeting.

const message = (type: string, content: Buffer) => {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(content.length + 4, 1);
  return Buffer.concat([head, content]);
};
const told = 'terminating connection due to administrator command';
const greeting = Buffer.concat([
  message('R', Buffer.alloc(4)),
  message('Z', Buffer.from('I')),
  message('E', Buffer.from(`SFATAL\0VFATAL\0C57P01\0M${told}\0\0`)),
]);

const server = createServer((socket) => {
  socket.on('error', () => {});
  socket.once('data', () => socket.end(greeting));
});
before(() => listen(server));
after(() => server.close());

test('a connection that ends while it opens fails its work alone', async () => {
  const { port } = server.address() as AddressInfo;
  const db = openDatabase(`postgres://sluice@127.0.0.1:${port}/sluice`, {
    connections_max: 2,
    application_name: 'sluice-test',
  });
  const faults: unknown[] = [];
  const note = (error: unknown) => void faults.push(error);
  process.on('uncaughtExceptionMonitor', note);
  try {
    await assert.rejects(db.transaction((tx) => tx.text('SELECT 1')));
    await assert.rejects(db.text('SELECT 1'));
    await db.close();
    assert.deepEqual(faults, []);
  } finally {
    process.off('uncaughtExceptionMonitor', note);
  }
});
