import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collection_names, preparedHere } from '../../../test/factories/plugins/plugins.ts';
import { shareHome } from '../../../test/shared_home.ts';
import { pluginApi } from './plugin_api.ts';
import { sample_event, templateOf } from './templates.ts';

const { harness, home } = shareHome();
const tryOut = (body: object) =>
  harness.request('POST', `/api/projects/${home.project.id}/plugin_configs/try_out/`, {
    key: home.key,
    body: { event: sample_event, allowed_hosts: ['api.example.com'], ...body },
  });

test('each template works as it stands', async () => {
  for (const collection of collection_names) {
    const { status, body, text } = await tryOut({
      collection,
      source: templateOf(collection, 'Mine "quoted"'),
    });
    assert.equal(status, 200, text);
    assert.equal(body.name, 'Mine "quoted"');
    const failed = body.calls.filter(({ error }: { error: unknown }) => error !== null);
    assert.deepEqual(failed, [], collection);
    if (collection === 'pipeline_frontend_apps') continue;
    assert.deepEqual([body.requests.length, body.logs.length], [1, 1], collection);
  }
});

test('each name that the editor explains is there, under the name that it says', async () => {
  const names = pluginApi('pipeline_destinations');
  const of = (kind: string) => names.filter((one) => one.kind === kind).map(({ name }) => name);
  const code = of('export')
    .map((name) => `export const ${name} = ${name === 'metrics' ? '{}' : '() => undefined'};`)
    .join('\n')
    .replace('jobs = () => undefined', 'jobs = {}');
  const { capabilities } = await preparedHere({ 'index.ts': code });
  assert.deepEqual(
    [...capabilities.methods, ...capabilities.scheduled_tasks, 'jobs', 'metrics'].toSorted(),
    of('export').toSorted(),
  );
  const paths = JSON.stringify([...of('meta').map((name) => `meta.${name}`), ...of('global')]);
  const { body, text } = await tryOut({
    collection: 'pipeline_destinations',
    source: {
      'index.ts': `const found = (path, meta) => path.split('.').reduce(
          (value, name) => value?.[name], { meta, ...globalThis, fetch, sluice, RetryError,
            console, setTimeout, Buffer, URL, URLSearchParams });
        export const onEvent = (event, meta) =>
          ${paths}.filter((path) => found(path, meta) === undefined);`,
    },
  });
  assert.equal(body.calls?.[0].result, '[]', text);
});
