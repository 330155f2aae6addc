import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noop_export, projectBase } from '../../../test/factories/batch_exports/batch_exports.ts';
import { shareHarness } from '../../../test/harness.ts';

const harness = shareHarness({ clickhouse: false });

test('ETag, If-Match, validate_only and Idempotency-Key work here', async () => {
  const home = await harness.newOrganization();
  const dry = await harness.request('POST', `${projectBase(home)}?validate_only=true`, {
    key: home.key,
    body: noop_export,
  });
  assert.equal(dry.status, 200);
  assert.equal((await harness.request('GET', projectBase(home), { key: home.key })).body.count, 0);
  const twice = await Promise.all(
    [0, 1].map(() =>
      harness.request('POST', projectBase(home), {
        key: home.key,
        body: noop_export,
        headers: { 'idempotency-key': 'one' },
      }),
    ),
  );
  const again = await harness.request('POST', projectBase(home), {
    key: home.key,
    body: noop_export,
    headers: { 'idempotency-key': 'one' },
  });
  assert.equal(again.headers['idempotent-replayed'], 'true');
  assert.equal(
    (await harness.request('GET', projectBase(home), { key: home.key })).body.count,
    1,
    JSON.stringify(twice.map((one) => one.status)),
  );
  const url = `${projectBase(home)}${again.body.id}/`;
  const { etag } = (await harness.request('GET', url, { key: home.key })).headers;
  assert.equal(
    (
      await harness.request('PATCH', url, {
        key: home.key,
        body: { name: 'A' },
        headers: { 'if-match': etag! },
      })
    ).status,
    200,
  );
  for (const method of ['PATCH', 'DELETE'])
    assert.equal(
      (
        await harness.request(method, url, {
          key: home.key,
          body: {},
          headers: { 'if-match': etag! },
        })
      ).status,
      412,
    );
  const checked = await harness.request('PATCH', `${url}?validate_only=true`, {
    key: home.key,
    body: { name: 'B' },
  });
  assert.deepEqual(
    [
      checked.status,
      checked.body.name,
      (await harness.request('GET', url, { key: home.key })).body.name,
    ],
    [200, 'B', 'A'],
  );
});
