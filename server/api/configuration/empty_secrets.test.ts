import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openConfigurations } from '../../../test/factories/configurations.ts';
import { packageFiles, setPluginsLevel } from '../../../test/factories/plugins/plugins.ts';
import { shareHarness } from '../../../test/harness.ts';
import type { Answer } from '../../../test/harness.ts';

const harness = shareHarness({ clickhouse: false });

const stepsOf = ({ body }: Answer) =>
  body.steps.map(({ action, path, changes }: any) => [
    action,
    path,
    Object.fromEntries(changes.map(({ field, before, after }: any) => [field, [before, after]])),
  ]);

test('an empty secret is refused at its place, and one that goes is shown as removed', async () => {
  const config = await openConfigurations(harness);
  await setPluginsLevel(harness, config.home, 6);
  const fields = [{ key: 'token', type: 'string', secret: true }];
  const files = (token: unknown, header: unknown, setting: unknown) => ({
    plugins: {
      geo: {
        collection: 'pipeline_destinations',
        plugin_type: 'source',
        source: packageFiles('pipeline_destinations', { name: 'Geo', config: fields }),
      },
    },
    projects: {
      web: {
        name: 'Web',
        batch_exports: {
          hook: {
            name: 'Hook',
            interval: 'hour',
            destination: {
              type: 'HTTP',
              config: { url: 'https://h.example.com/', token, headers: { 'X-Key': header } },
            },
          },
        },
        plugin_configs: { geo: { plugin: 'geo', config: { token: setting } } },
      },
    },
  });
  const given = { secret: 'pl4nted' };
  await config.put(files(given, given, given));
  for (const blank of ['', ' \n']) {
    const empty = { secret: blank };
    const refused = await config.plan(files(empty, empty, empty));
    assert.equal(refused.status, 400, refused.text);
    const web = 'configuration__projects__web__';
    assert.deepEqual(
      refused.body.errors.map(({ attr, code }: any) => [attr, code]),
      [
        [`${web}batch_exports__hook__destination__config__token`, 'blank'],
        [`${web}batch_exports__hook__destination__config__headers__X-Key`, 'blank'],
        [`${web}plugin_configs__geo__config__token`, 'blank'],
      ],
    );
    assert.match(refused.body.errors[0].detail, /remove the key to keep .* or write null to clear/);
  }
  const secrets = {
    'destination.config.token': ['********', null],
    'destination.config.headers': ['********', null],
    'config.token': ['********', null],
  };
  const { 'config.token': setting, ...own } = secrets;
  for (const gone of ['', null]) {
    const wiped = files(gone, 'unused', gone) as any;
    wiped.projects.web.batch_exports.hook.destination.config.headers = gone === '' ? {} : null;
    const planned = await config.plan(wiped);
    assert.equal(planned.status, 201, planned.text);
    const [hook, geo] = stepsOf(planned);
    assert.deepEqual(hook, ['change', 'projects.web.batch_exports.hook', own]);
    assert.deepEqual(geo[2]['config.token'], setting);
  }
  const wiped = files(null, 'unused', null) as any;
  wiped.projects.web.batch_exports.hook.destination.config.headers = null;
  await config.put(wiped);
  const { body } = await config.home.ask(
    'GET',
    `/api/organizations/${config.home.organization.id}/activity/?limit=10`,
  );
  const hook = body.results.find(({ scope }: any) => scope === 'batch_export');
  assert.deepEqual(
    hook.changes
      .filter(({ field }: any) => field.startsWith('destination.config.'))
      .map(({ field, action, after }: any) => [field, action, after]),
    [
      ['destination.config.token', 'deleted', null],
      ['destination.config.headers.X-Key', 'deleted', null],
    ],
  );
  assert.deepEqual((await config.plan(wiped)).body.steps, []);
});
