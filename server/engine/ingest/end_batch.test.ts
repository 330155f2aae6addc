import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { listen, urlOf } from '../../../test/servers/loopback.ts';
import { openClickHouse } from '../../platform/clickhouse/client.ts';
import { endBatch } from './end_batch.ts';

/** Asks a store that answers as `answer` does for the end of a batch. */
async function askedOf(
  answer_ms: number,
  answer: Parameters<typeof createServer>[1],
): Promise<boolean> {
  const server = await listen(createServer(answer));
  const clickhouse = openClickHouse(urlOf(server), { application: 'test' });
  try {
    return await endBatch(clickhouse, 'a batch', answer_ms);
  } finally {
    server.closeAllConnections();
    server.close();
    await clickhouse.close();
  }
}

test('a store that hangs delays no caller, even in the middle of an answer', async () => {
  assert.equal(await askedOf(30, () => undefined), false);
  assert.equal(
    await askedOf(30, (_request, response) => response.writeHead(200).write('{')),
    false,
  );
});

test('a store that is slow is heard to the end', async () => {
  // The limit only ends a store that is far slower than this one, also on a busy machine.
  const slow = await askedOf(60_000, (_request, response) => {
    setTimeout(() => response.end('{"running":0}\n'), 80);
  });
  assert.equal(slow, true);
});
