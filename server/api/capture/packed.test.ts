import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { aroundTests } from '../../../test/around_tests.ts';
import { openHarness } from '../../../test/harness.ts';

const harness = aroundTests(openHarness);

test('small bodies that hold much are put off, however many come; others go on', async () => {
  const { project } = await harness.newOrganization();
  const send = (body: Buffer | string) =>
    harness.request('POST', '/batch/', {
      body,
      headers: { 'content-type': 'application/json' },
    });
  // 20 KB each, and 20 MiB once they are unpacked: three are half of the room.
  const blank = ' '.repeat(20 * 1024 * 1024 - 100);
  const packed = gzipSync(`{"api_key":"${project.api_token}","batch":[${blank}]}`);
  const statuses = (await Promise.all(Array.from({ length: 5 }, () => send(packed)))).map(
    ({ status }) => status,
  );
  const count = (wanted: number) => statuses.filter((status) => status === wanted).length;
  assert.ok(count(503) >= 1 && count(503) < 5, String(statuses));
  assert.equal(count(503) + count(200) + count(400), 5, String(statuses));
  const event = { event: 'a', distinct_id: 'b' };
  const whole = JSON.stringify({ api_key: project.api_token, batch: [event] });
  assert.equal((await send(gzipSync(whole))).status, 200);
});
