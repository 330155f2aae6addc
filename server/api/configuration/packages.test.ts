import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { openConfigurations } from '../../../test/factories/configurations.ts';
import {
  destination,
  harness,
  home,
  openAroundTests,
  registry,
} from '../../../test/factories/plugins/packages_around_tests.ts';
import { packageFiles, setPluginsLevel } from '../../../test/factories/plugins/plugins.ts';

openAroundTests();

const token = 'pl4nted-token';
const place = { collection: destination, plugin_type: 'custom' };
const wanted = (tag: string, more: object = {}) => ({
  plugins: { geo: { ...place, url: { secret: `geo?private_token=${token}` }, tag }, ...more },
});

test('packages are installed and upgraded; no transaction is open while they come', async () => {
  const config = await openConfigurations(harness, home);
  await setPluginsLevel(harness, home, 6);
  const open_transactions: number[] = [];
  const look = async () => {
    const row = await harness.deps.db.row<{ count: number }>(sql`
      SELECT count(*) AS count FROM pg_stat_activity
      WHERE datname = current_database() AND state LIKE 'idle in transaction%'`);
    open_transactions.push(row!.count);
  };
  for (const version of ['1.0.0', '2.0.0']) {
    registry.publish('geo', version, packageFiles(destination, { name: `Geo ${version}` }));
    // Once for the plan, and once for the apply.
    registry.holdNext(/\.tgz$/, look);
    registry.holdNext(/\.tgz$/, look);
  }
  registry.protect('geo', token);
  const planned = await config.plan(wanted('1.0.0'));
  assert.equal(planned.status, 201, planned.text);
  assert.doesNotMatch(planned.text, /pl4nted/);
  assert.deepEqual(planned.body.summary.create, 1);
  assert.equal((await config.apply(planned.body.hash)).status, 200);
  assert.equal((await config.plan(wanted('1.0.0'))).body.is_empty, true);
  const pulled = await config.pull();
  assert.deepEqual(pulled.body.configuration.plugins.geo.url, { env: 'GEO_URL' });
  const upgrade = await config.put(wanted('2.0.0'));
  assert.deepEqual(upgrade.body.summary.change, 1);
  assert.equal((await config.plan(wanted('2.0.0'))).body.is_empty, true);
  // Each plan and each apply with something to fetch did so once.
  assert.deepEqual(open_transactions, [0, 0, 0, 0]);
});

test('a plan reports the faults of all packages at once, and none of their configs', async () => {
  const config = await openConfigurations(harness, home);
  const missing = (url: string) => ({ ...place, url });
  const refused = await config.plan({
    plugins: { one: missing('not-there'), other: missing('nor-this'), broken: written('const') },
    projects: {
      web: { name: 'Web', plugin_configs: { one: { plugin: 'one', enabled: true } } },
    },
  });
  assert.equal(refused.status, 400);
  assert.deepEqual(
    refused.body.errors.map(({ attr }: any) => attr),
    ['one__url', 'other__url', 'broken__source'].map((path) => `configuration__plugins__${path}`),
  );
});

function written(code: string): object {
  const source = packageFiles(destination, {}, { 'index.ts': code });
  return { collection: destination, plugin_type: 'source', source };
}
