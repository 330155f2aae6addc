import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import {
  harness,
  home,
  openAroundTests,
  run,
  send,
  soon,
  stopAll,
  taken,
  target,
} from '../../../../test/factories/plugins/plugin_runs.ts';
import { packageFiles, publishedPlugin } from '../../../../test/factories/plugins/plugins.ts';
import { sendEvents } from '../../../../test/factories/plugins/running_plugins.ts';
import type { TestOrganization } from '../../../../test/harness.ts';
import { claimConfigs, releaseLease } from './leases.ts';

// A plugin of another organization, walked to its end: finding P-05 of the security review.

openAroundTests();

const fieldsWith = (mark: string) => [
  { key: 'address', type: 'string', required: true },
  { key: 'secret', type: 'string', secret: true },
  { key: 'mark', type: 'string', default: mark },
];
const filesOf = (mark: string) =>
  packageFiles(
    'pipeline_destinations',
    { name: 'Google Sheets official', config: fieldsWith(mark) },
    {
      'index.ts': `${send} export const onEvent = (event, { config }) =>
        post(config, ['${mark}', config.mark, config.secret]);`,
    },
  );
/** Returns the answers to `count` more events of the project. */
const answers = async (count: number) => {
  const before = target.taken.length;
  await sendEvents(home, count);
  return (await taken(before + count)).slice(before);
};
const changeCode = async (owner: TestOrganization, url: string, mark: string) => {
  const { status, text } = await owner.ask('PUT', `${url}update_source/`, {
    source: filesOf(mark),
  });
  assert.equal(status, 200, text);
};

test('a stranger’s new code runs here once this organization accepts it', async () => {
  const beta = await harness.newOrganization({ name: 'Beta' });
  const { id, url } = await publishedPlugin(
    harness,
    beta,
    'pipeline_destinations',
    filesOf('first'),
  );
  const configs = `/api/projects/${home.project.id}/plugin_configs/`;
  const created = await home.ask('POST', configs, {
    plugin: id,
    enabled: true,
    config: { address: target.url, secret: 'of-alpha' },
    allowed_hosts: ['127.0.0.1'],
  });
  assert.equal(created.status, 201, created.text);
  const config = `${configs}${created.body.id}/`;
  run();
  const first = ['first', 'first', 'of-alpha'];
  assert.deepEqual(await answers(2), [first, first]);

  // Beta changes the code, the settings with their defaults, and the code again.
  await changeCode(beta, url, 'stolen');
  await beta.ask('PATCH', url, { config_schema: fieldsWith('elsewhere') });
  assert.deepEqual(await answers(2), [first, first]);
  await changeCode(beta, url, 'stolen again');
  assert.deepEqual(await answers(2), [first, first]);
  // Neither a worker that loads it anew, nor settings that are saved, nor a new start change that.
  await stopAll();
  run();
  assert.deepEqual(await answers(1), [first]);
  assert.equal((await home.ask('PATCH', config, { order: 3 })).status, 200);
  assert.deepEqual(await answers(1), [first]);
  for (const enabled of [false, true])
    assert.equal((await home.ask('PATCH', config, { enabled })).status, 200);
  assert.deepEqual(await answers(1), [first]);

  const waiting = (await home.ask('GET', config)).body;
  assert.notEqual(waiting.waiting_version.content_sha256, waiting.accepted_version.content_sha256);
  // Beta cannot accept for Alpha.
  assert.equal((await beta.ask('POST', `${config}accept_version/`)).status, 404);
  assert.deepEqual(await answers(1), [first]);
  const accepted = await home.ask('POST', `${config}accept_version/`);
  assert.deepEqual([accepted.status, accepted.body.waiting_version], [200, null], accepted.text);
  assert.deepEqual(await answers(1), [['stolen again', 'stolen again', 'of-alpha']]);
});

test('a change by its organization ends no pause after a failure', async () => {
  const beta = await harness.newOrganization({ name: 'Beta' });
  const { id, url } = await publishedPlugin(
    harness,
    beta,
    'pipeline_destinations',
    filesOf('first'),
  );
  const { body } = await home.ask('POST', `/api/projects/${home.project.id}/plugin_configs/`, {
    plugin: id,
    enabled: true,
    config: { address: target.url },
    allowed_hosts: ['127.0.0.1'],
  });
  let asked = 0;
  target.answer = () => {
    asked += 1;
    return 503;
  };
  run();
  await sendEvents(home, 1);
  await soon('the first try', async () => (asked > 0 ? true : undefined));
  await stopAll();
  await harness.deps.db.run(sql`UPDATE plugin_cursors SET retry_at = now() + interval '1 day',
    updated_at = now() WHERE plugin_config_id = ${body.id}`);
  const claimed = async () => {
    const leases = await claimConfigs(harness.deps.db, 100, randomUUID());
    await Promise.all(leases.map((lease) => releaseLease(harness.deps.db, lease)));
    return leases.some(({ config_id }) => config_id === body.id);
  };
  await changeCode(beta, url, 'second');
  assert.equal(await claimed(), false);
  const config = `/api/projects/${home.project.id}/plugin_configs/${body.id}/`;
  assert.equal((await home.ask('POST', `${config}accept_version/`)).status, 200);
  assert.equal(await claimed(), true);
});
