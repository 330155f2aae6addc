import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Readable } from 'node:stream';
import { Agent, request as send } from 'undici';
import { openHarness } from '../../../test/harness.ts';
import type { Harness, TestOrganization } from '../../../test/harness.ts';

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
  harness.request('POST', `${pathOf(home)}${query}`, { key: home.key, body, headers });
const nothing = { taken: 0, duplicates: 0, refused: 0, rejected: 0, errors: [] };

test(
  'a line of more than 20 MiB and an event of more than 10 MiB are refused, what follows is ' +
    'taken',
  async () => {
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
      events: [
        { event: 'large', distinct_id: 'd', properties: { x: 'y'.repeat(9 * 1024 * 1024) } },
      ],
    });
    assert.deepEqual(large.body, { ...nothing, taken: 1 });
  },
);

test(
  'a stream of 200,000 lines takes no memory with its length, and a client that leaves does no ' +
    'harm',
  async () => {
    const owner = await harness.newOrganization();
    const headers = { ...lines, authorization: `Bearer ${owner.key}` };
    const properties = { text: 'x'.repeat(400) };
    const line = JSON.stringify({ event: 'e', distinct_id: 'd', properties });
    const chunk = `${line}\n`.repeat(2_000);
    function* body(chunks: number) {
      for (let index = 0; index < chunks; index += 1) yield chunk;
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
    // Long enough for all that may wait to have waited once.
    await post(40);
    const before = process.memoryUsage.rss();
    let highest = before;
    const watch = setInterval(() => (highest = Math.max(highest, process.memoryUsage.rss())), 20);
    assert.deepEqual((await post(100)).taken, 200_000);
    clearInterval(watch);
    // 90 MB of lines pass through.
    assert.ok(highest - before < 250e6, `${highest - before} bytes more`);
    function* leaving() {
      yield chunk;
      throw new Error('gone');
    }
    await assert.rejects(
      send(url, { dispatcher: agent, method: 'POST', headers, body: Readable.from(leaving()) }),
    );
    assert.equal((await post(1)).taken, 2_000);
  },
);
