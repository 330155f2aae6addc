import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { shareHarness } from '../../../test/harness.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import { endpoints } from './config.ts';

let home: TestOrganization;
let base: string;
const harness = shareHarness({
  clickhouse: false,
  opened: async () => {
    home = await harness.newOrganization();
    base = `/iceberg/v1/${home.project.id}`;
  },
});

test('config names the project of the warehouse, and nobody else one', async () => {
  const at = (warehouse: string) =>
    home.ask('GET', `/iceberg/v1/config?warehouse=${warehouse}`).then(({ status }) => status);
  const { body } = await home.ask('GET', '/iceberg/v1/config');
  assert.deepEqual(body.overrides, { prefix: String(home.project.id) });
  assert.deepEqual(body.defaults, {});
  assert.equal(body['idempotency-key-lifetime'], 'PT24H');
  assert.deepEqual(body.endpoints, endpoints);
  const stranger = await harness.newOrganization();
  assert.equal(await at(String(home.project.id)), 200);
  assert.deepEqual(await Promise.all([at(String(stranger.project.id)), at('lake')]), [404, 404]);
});

test('every endpoint that config names is there, and no other', () => {
  const shown = (path: string) => path.replace('/iceberg', '').replace('{project_id}', '{prefix}');
  const routes = new Set(
    Object.entries(harness.hiddenRoutes()).flatMap(([path, methods]) =>
      path.startsWith('/iceberg/v1/{project_id}')
        ? Object.keys(methods as object).map((method) => `${method.toUpperCase()} ${shown(path)}`)
        : [],
    ),
  );
  const offered = [...routes].filter((one) => !one.startsWith('HEAD /v1/{prefix}/namespaces '));
  assert.deepEqual(
    endpoints.filter((one) => !routes.has(one)),
    [],
  );
  assert.deepEqual(
    offered.filter((one) => !one.startsWith('HEAD') && !endpoints.includes(one)),
    [],
  );
});

test('a key is exchanged for a token, which ends with the key', async () => {
  const key = await harness.newKey(home.user, { scopes: ['lake:read'] });
  const exchange = (form: Record<string, string>, headers: Record<string, string> = {}) =>
    harness.request('POST', '/iceberg/v1/oauth/tokens', {
      body: new URLSearchParams(form).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    });
  const asked = { grant_type: 'client_credentials', client_secret: key, scope: 'catalog' };
  const { status, body, headers } = await exchange(asked);
  assert.equal(status, 200);
  assert.equal(headers['cache-control'], 'no-store');
  assert.deepEqual([body.token_type, body.expires_in], ['bearer', 3_600]);
  const list = (token: string) => harness.request('GET', `${base}/namespaces`, { key: token });
  assert.equal((await list(body.access_token)).status, 200);
  // It opens the catalog alone.
  const beyond = await harness.request('GET', '/api/projects/', { key: body.access_token });
  assert.equal(beyond.status, 401);
  // And only what the key may.
  const writing = await harness.request('POST', `${base}/namespaces`, {
    key: body.access_token,
    body: { namespace: ['x'] },
  });
  assert.equal(writing.status, 403);
  const renewed = await exchange({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: body.access_token,
  });
  assert.equal((await list(renewed.body.access_token)).status, 200);
  const basic = Buffer.from(`any:${key}`).toString('base64');
  const by_header = await exchange(
    { grant_type: 'client_credentials' },
    { authorization: `Basic ${basic}` },
  );
  assert.equal(by_header.status, 200);
  await harness.deps.db.run(
    sql`DELETE FROM personal_api_keys WHERE key_hash = ${harness.deps.secrets.hash(key)}`,
  );
  assert.equal((await list(body.access_token)).status, 401);
  const gone = await exchange(asked);
  assert.deepEqual([gone.status, gone.body.error], [401, 'invalid_client']);
  const cases: [Record<string, string>, number, string][] = [
    [{ grant_type: 'password' }, 400, 'unsupported_grant_type'],
    [{ grant_type: 'client_credentials' }, 400, 'invalid_request'],
    [{ grant_type: 'client_credentials', client_secret: 'x' }, 401, 'invalid_client'],
  ];
  for (const [form, wanted, error] of cases) {
    const answer = await exchange(form);
    assert.deepEqual([answer.status, answer.body.error], [wanted, error]);
  }
});
