import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../test/around_tests.ts';
import { openHarness } from '../../../test/harness.ts';

const harness = aroundTests(() => openHarness({ clickhouse: false }));

const bought = { event: 'bought', distinct_id: 'ada', type: 'track', userId: 'ada' };

test('an event that cannot be stored is 503 in every form, with Retry-After', async () => {
  const { project } = await harness.newOrganization();
  const headers = {
    authorization: `Bearer ${project.api_token}`,
    origin: 'https://shop.example',
  };
  for (const [path, body] of [
    ['/e/', bought],
    ['/i/v1/analytics/events', { batch: [bought] }],
    ['/v1/t', bought],
    ['/v1/logs', { resourceLogs: [{ scopeLogs: [{ logRecords: [{}] }] }] }],
  ] as const) {
    const answer = await harness.request('POST', path, { headers, body });
    assert.equal(answer.status, 503, `${path}: ${answer.text}`);
    assert.match(answer.headers['retry-after']!, /^\d+$/);
    assert.match(answer.headers['access-control-expose-headers']!, /retry-after/);
    assert.equal(answer.headers['access-control-allow-origin'], headers.origin);
  }
});

test('the key of a project that is gone is unknown', async () => {
  const { project } = await harness.newOrganization();
  await harness.deps.db.run(sql`DELETE FROM projects WHERE id = ${project.id}`);
  const body = { ...bought, api_key: project.api_token };
  const answer = await harness.request('POST', '/capture', { body });
  assert.deepEqual([answer.status, answer.body.code], [401, 'authentication_failed']);
});
