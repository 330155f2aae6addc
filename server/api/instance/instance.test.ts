import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aroundTests } from '../../../test/around_tests.ts';
import { openHarness } from '../../../test/harness.ts';

const bare = aroundTests(() => openHarness({ clickhouse: false }));
const named = aroundTests(() =>
  openHarness({
    clickhouse: false,
    config: { instance_name: 'Staging', instance_colour: 'orange' },
  }),
);

test('anybody reads the name and colour of the server, and whether it sends mails', async () => {
  const command = 'npm run sluice --';
  const unnamed = { name: null, colour: 'blue', sends_mail: false, command };
  assert.deepEqual((await bare.request('GET', '/api/instance/')).body, unnamed);
  const { status, body } = await named.request('GET', '/api/instance/');
  assert.deepEqual([status, body], [200, { ...unnamed, name: 'Staging', colour: 'orange' }]);
});
