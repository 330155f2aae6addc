import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noop_export, projectBase } from '../../../test/factories/batch_exports/batch_exports.ts';
import { shareHarness } from '../../../test/harness.ts';

const harness = shareHarness({ clickhouse: false });

test('ETag, If-Match, validate_only and Idempotency-Key work here', async () => {
  const home = await harness.newOrganization();
  const dry = await home.ask('POST', `${projectBase(home)}?validate_only=true`, noop_export);
  assert.equal(dry.status, 200);
  assert.equal((await home.ask('GET', projectBase(home))).body.count, 0);
  const twice = await Promise.all(
    [0, 1].map(() =>
      home.ask('POST', projectBase(home), noop_export, { 'idempotency-key': 'one' }),
    ),
  );
  const again = await home.ask('POST', projectBase(home), noop_export, {
    'idempotency-key': 'one',
  });
  assert.equal(again.headers['idempotent-replayed'], 'true');
  assert.equal(
    (await home.ask('GET', projectBase(home))).body.count,
    1,
    JSON.stringify(twice.map((one) => one.status)),
  );
  const url = `${projectBase(home)}${again.body.id}/`;
  const { etag } = (await home.ask('GET', url)).headers;
  assert.equal((await home.ask('PATCH', url, { name: 'A' }, { 'if-match': etag! })).status, 200);
  for (const method of ['PATCH', 'DELETE'])
    assert.equal((await home.ask(method, url, {}, { 'if-match': etag! })).status, 412);
  const checked = await home.ask('PATCH', `${url}?validate_only=true`, { name: 'B' });
  assert.deepEqual(
    [checked.status, checked.body.name, (await home.ask('GET', url)).body.name],
    [200, 'B', 'A'],
  );
});
