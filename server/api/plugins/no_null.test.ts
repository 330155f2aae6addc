import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attrsOf } from '../../../test/factories/batch_exports/batch_exports.ts';
import {
  collectionUrl,
  packageFiles,
  writtenPlugin,
} from '../../../test/factories/plugins/plugins.ts';
import { shareHome } from '../../../test/shared_home.ts';

const { harness, home } = shareHome();

const ask = (method: string, path: string, body?: unknown) => home.ask(method, path, body);
const nulls = { config_schema: null, capabilities: null, metrics: null, public_jobs: null };
const refused = Object.keys(nulls).map((name) => `${name} null`);

test('the fields of a plugin are never null, and its configs keep working', async () => {
  const fields = [{ key: 'token', type: 'string', secret: true }];
  const files = packageFiles('pipeline_destinations', { config: fields });
  const { id, url } = await writtenPlugin(harness, home, 'pipeline_destinations', files);
  const list = `/api/projects/${home.project.id}/plugin_configs/`;
  const set = await ask('POST', list, { plugin: id, enabled: true, config: { token: 'a-token' } });
  for (const method of ['PATCH', 'PUT']) {
    const answer = await ask(method, url, nulls);
    assert.deepEqual([answer.status, attrsOf(answer)], [400, refused.toSorted()]);
    assert.match(answer.body.detail, /may not be null/);
  }
  const answer = await ask('POST', collectionUrl(home), { name: 'One', ...nulls });
  assert.deepEqual(attrsOf(answer), refused.toSorted());
  const one = `${list}${set.body.id}/`;
  assert.deepEqual((await ask('GET', one)).body.plugin_info.config_schema, fields);
  assert.equal((await ask('PATCH', one, { config: { token: 'b-token' } })).status, 200);
});

test('any other JSON is accepted unchanged', async () => {
  const { url } = await writtenPlugin(harness, home);
  for (const value of [{}, [], 'text', 7, false, { deep: [null] }]) {
    const sent = { config_schema: value, capabilities: value, metrics: value, public_jobs: value };
    const answer = await ask('PATCH', url, sent);
    assert.equal(answer.status, 200, answer.text);
    for (const name of Object.keys(sent)) assert.deepEqual(answer.body[name], value);
  }
});
