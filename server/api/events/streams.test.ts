import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Readable } from 'node:stream';
import { Agent, request as send } from 'undici';
import { inDepth } from '../../../test/depth.ts';
import { openHarness } from '../../../test/harness.ts';
import type { Harness, TestOrganization } from '../../../test/harness.ts';
import { collectAll } from '../../platform/memory/collector.ts';

let harness: Harness;
let home: TestOrganization;
let address: string;
const agent = new Agent();
before(async () => {
  harness = await openHarness();
  home = await harness.newOrganization();
  address = await harness.app.listen({ host: '127.0.0.1', port: 0 });
});
after(async () => {
  // A client's connection on which no request was sent would keep the server from closing.
  await agent.destroy();
  await harness.close();
});

const lines = { 'content-type': 'application/x-ndjson' };
const pathOf = (owner: TestOrganization) => `/api/projects/${owner.project.id}/events/`;
const post = (body: unknown, headers: Record<string, string> = {}, query = '') =>
  home.ask('POST', `${pathOf(home)}${query}`, body, headers);
/** Returns the bytes in use, after a collection of garbage. */
const heldBytes = () => {
  collectAll();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
};
const nothing = { taken: 0, duplicates: 0, refused: 0, dropped: 0, rejected: 0, errors: [] };

test('a line over 20 MiB and an event over 10 MiB are refused, later ones are stored', async () => {
  const properties = { x: 'y'.repeat(10 * 1024 * 1024) };
  const body = [
    'x'.repeat(20 * 1024 * 1024 + 1),
    JSON.stringify({ event: 'e', distinct_id: 'd', properties }),
    '{"event":"ok","distinct_id":"d"}',
  ].join('\n');
  const answer = await post(body, lines);
  assert.deepEqual([answer.status, answer.body.taken], [200, 1]);
  assert.deepEqual(
    answer.body.errors.map((error: { attr: string; code: string }) => [error.attr, error.code]),
    [
      ['lines__1', 'max_length'],
      ['lines__2__properties', 'max_length'],
    ],
  );
  const large = await post({
    events: [{ event: 'large', distinct_id: 'd', properties: { x: 'y'.repeat(9 * 1024 * 1024) } }],
  });
  assert.deepEqual(large.body, { ...nothing, taken: 1 });
});

test('a long stream keeps its memory small, and a client that leaves harms no other', async () => {
  const owner = await harness.newOrganization();
  const headers = { ...lines, authorization: `Bearer ${owner.key}` };
  // A short line costs more than its bytes: a campaign has 200,000 of them.
  const properties = { text: 'x'.repeat(inDepth(8_900, 400)) };
  const line = JSON.stringify({ event: 'e', distinct_id: 'd', properties });
  const count = inDepth(100, 2_000);
  const chunk = `${line}\n`.repeat(count);
  let held = 0;
  function* body(chunks: number) {
    for (let index = 0; index < chunks; index += 1) yield chunk;
    held = heldBytes();
  }
  const url = `${address}${pathOf(owner)}`;
  const post = async (chunks: number) => {
    const answer = await send(url, {
      dispatcher: agent,
      method: 'POST',
      headers,
      body: Readable.from(body(chunks)),
    });
    return (await answer.body.json()) as { taken: number };
  };
  await post(2);
  const before = heldBytes();
  const chunks = inDepth(66, 100);
  assert.equal((await post(chunks)).taken, chunks * count);
  // The lines are 59 MB or more, of which some 20 groups of rows may wait to be stored.
  assert.ok(held - before < 50e6, `${held - before} bytes more`);
  function* leaving() {
    yield chunk;
    throw new Error('gone');
  }
  await assert.rejects(
    send(url, { dispatcher: agent, method: 'POST', headers, body: Readable.from(leaving()) }),
  );
  assert.equal((await post(1)).taken, count);
});
