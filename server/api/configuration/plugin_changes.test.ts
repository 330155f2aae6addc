import assert from 'node:assert/strict';
import { test } from 'node:test';
import { packageFiles, setPluginsLevel } from '../../../test/factories/plugins/plugins.ts';
import { openConfigurations } from '../../../test/factories/configurations.ts';
import { shareHarness } from '../../../test/harness.ts';

const harness = shareHarness({ clickhouse: false });

const fields = [
  { key: 'token', type: 'string', secret: true },
  { key: 'place', type: 'string' },
];

test('new code and a new secret attachment of a plugin are changes that a plan shows', async () => {
  const config = await openConfigurations(harness);
  await setPluginsLevel(harness, config.home, 6);
  const attachment = { key: 'file', type: 'attachment', secret: true };
  const manifest = { name: 'Theirs', config: [...fields, attachment] };
  const files = (code: string, contents: string) => ({
    projects: {
      web: {
        name: 'Web',
        plugin_configs: {
          one: {
            plugin: 'one',
            config: {
              place: 'here',
              file: { file_name: 'a', content_type: 'text/plain', contents: { secret: contents } },
            },
          },
        },
      },
    },
    plugins: {
      one: {
        collection: 'pipeline_destinations',
        plugin_type: 'source',
        name: 'Ours',
        source: packageFiles('pipeline_destinations', manifest, { 'index.ts': code }),
      },
    },
  });
  const [code, new_code] = ['', '!'].map((text) => `export function onEvent() {} // ${text}`);
  await config.put(files(code!, 'AAAA'));
  // The name of the files holds, not that of the plugin.json.
  assert.equal((await config.plan(files(code!, 'AAAA'))).body.is_empty, true);
  const changed = await config.plan(files(new_code!, 'BBBB'));
  assert.deepEqual(
    changed.body.steps.map(({ path, changes }: any) => [
      path,
      ...changes.map((one: any) => one.field),
    ]),
    [
      ['plugins.one', 'source.index.ts'],
      ['projects.web.plugin_configs.one', 'config.file'],
    ],
  );
  assert.doesNotMatch(changed.text, /BBBB/);
  assert.equal((await config.apply(changed.body.hash)).status, 200);
  assert.equal((await config.plan(files(new_code!, 'BBBB'))).body.is_empty, true);
});
