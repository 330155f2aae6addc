import assert from 'node:assert/strict';
import { Agent, request as open } from 'node:http';
import { after, before, test } from 'node:test';
import { openHarness } from '../../../test/harness.ts';
import type { Harness, TestOrganization } from '../../../test/harness.ts';

let harness: Harness;
let address: string;
const agent = new Agent();
before(async () => {
  harness = await openHarness({ clickhouse: false });
  address = await harness.app.listen({ host: '127.0.0.1', port: 0 });
});
after(async () => {
  agent.destroy();
  await harness.close();
});

const event = '{"event":"a","distinct_id":"b"}';
const long = Buffer.alloc(19 * 1024 * 1024, 'x');

/** A request whose line, or body, has begun and does not end before `end` is called. */
function begin({ project, key }: TestOrganization, content_type: string) {
  const sending = open(`${address}/api/projects/${project.id}/events/?validate_only=true`, {
    agent,
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': content_type },
  });
  const answered = new Promise<number>((resolve, reject) => {
    sending.on('response', (response) => {
      response.resume();
      resolve(response.statusCode!);
    });
    sending.on('error', reject);
  });
  sending.flushHeaders();
  return {
    answered,
    grow: () => void sending.write(long),
    end: (text?: string) => void sending.end(text),
  };
}

for (const content_type of ['application/x-ndjson', 'application/json'])
  test(`${content_type}: the load of a project is bounded and leaves space`, async () => {
    const home = await harness.newOrganization();
    // Six are as many as there is room for.
    const seven = Array.from({ length: 7 }, () => begin(home, content_type));
    for (const { grow } of seven) grow();
    assert.equal(await Promise.race(seven.map(({ answered }) => answered)), 503);
    const other = begin(await harness.newOrganization(), content_type);
    other.end(event);
    assert.equal(await other.answered, 200);
    for (const { end } of seven) end();
    const statuses = await Promise.all(seven.map(({ answered }) => answered));
    // A body that was read whole is no JSON.
    assert.deepEqual([...new Set(statuses)].toSorted(), [400, 503], String(statuses));
    const later = begin(home, content_type);
    later.end(event);
    assert.equal(await later.answered, 200);
  });
