import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attrsOf } from '../../../test/factories/batch_exports/batch_exports.ts';
import { packageFiles, writtenPlugin } from '../../../test/factories/plugins/plugins.ts';
import { shareHome } from '../../../test/shared_home.ts';

const text = (key: string, more: object = {}) => ({ key, type: 'string', ...more });
const fields = [
  text('apiHost'),
  text('url', { default: 'https://api.example.com' }),
  text('projectId'),
  text('webhook_url', { secret: true }),
  { key: 'target', type: 'json' },
  text('batch_size', { default: '10' }),
  text('importance'),
  text('token', { secret: true }),
  text('password', { secret: true }),
];
const config = {
  apiHost: 'api.example.com',
  projectId: '7',
  target: '{"path":"/a"}',
  importance: 'high',
  token: 'pl4nted-token',
  password: 'pl4nted-word',
};
const allowed_hosts = ['api.example.com', 'b.example.com'];

const { harness, home } = shareHome(async () => {
  const files = packageFiles('pipeline_destinations', { config: fields });
  const { id } = await writtenPlugin(harness, home, 'pipeline_destinations', files);
  const list = `/api/projects/${home.project.id}/plugin_configs/`;
  const body = { plugin: id, enabled: true, config, allowed_hosts };
  const created = await home.ask('POST', list, body);
  assert.equal(created.status, 201, created.text);
  one = `${list}${created.body.id}/`;
});
let one: string;

const ask = (method: string, path: string, body: unknown) => home.ask(method, path, body);
const both = ['config__password required', 'config__token required'];
const { token, password, ...shown } = config;

/** The secrets that a change asks for by each method; PATCH merges `config`, PUT replaces it. */
const cases: [string, { config?: object; allowed_hosts?: string[] }, string[]][] = [
  ['a host', { config: { apiHost: 'listener.example.com' } }, both],
  ['a url that had its default', { config: { url: 'https://b.example.com' } }, both],
  ['a word inside of a key', { config: { projectId: '8' } }, both],
  ['an address under any key', { config: { importance: 'https://b.example.com' } }, both],
  ['an address in JSON', { config: { target: '{"to":"https://b.example.com"}' } }, both],
  ['a secret that says where', { config: { webhook_url: 'https://b.example.com/x' } }, both],
  ['one of two secrets sent', { config: { apiHost: 'b.example.com', token } }, both.slice(0, 1)],
  ['one more host', { allowed_hosts: [...allowed_hosts, 'listener.example.com'] }, both],
  ['a pattern of hosts', { allowed_hosts: ['*.example.com'] }, both],
  ['fewer hosts', { allowed_hosts: ['API.example.com'] }, []],
  ['both secrets sent', { config: { apiHost: 'b.example.com', token, password } }, []],
  ['the same host', { config: { apiHost: 'api.example.com', url: 'https://api.example.com' } }, []],
  ['something else', { config: { batch_size: '20', importance: 'low', target: '{}' } }, []],
  ['secrets alone', { config: { token: 'another-token' } }, []],
];

for (const [what, change, asked] of cases) {
  test(`${what}: secrets are ${asked.length === 0 ? 'kept' : 'asked for again'}`, async () => {
    const before_change = await home.ask('GET', one);
    const put = {
      ...change,
      ...(change.config === undefined ? {} : { config: { ...shown, ...change.config } }),
    };
    const answers = [
      await ask('PATCH', `${one}?validate_only=true`, change),
      await ask('PUT', `${one}?validate_only=true`, put),
      ...(asked.length === 0 ? [] : [await ask('PATCH', one, change), await ask('PUT', one, put)]),
    ];
    for (const answer of answers)
      assert.deepEqual(answer.status === 400 ? attrsOf(answer) : [], asked, answer.text);
    const now = await home.ask('GET', one);
    assert.deepEqual(now.body, before_change.body);
  });
}

test('a value that PUT leaves out resets the place, and asks for stored secrets only', async () => {
  const { apiHost: _host, ...without } = shown;
  assert.deepEqual(attrsOf(await ask('PUT', one, { config: without })), both);
  const gone = { config: { apiHost: 'listener.example.com', token: null, password: null } };
  assert.equal((await ask('PATCH', `${one}?validate_only=true`, gone)).status, 200);
});
