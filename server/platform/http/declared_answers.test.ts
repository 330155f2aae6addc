import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shareHarness } from '../../../test/harness.ts';
import { withHiddenRoutes } from '../../../test/watchers/hidden_routes.ts';
import type { TestOrganization } from '../../../test/harness.ts';

type Operation = {
  responses: Record<string, { content?: Record<string, object> }>;
  parameters?: { name?: string; $ref?: string }[];
  tags?: string[];
};

const harness = shareHarness({
  clickhouse: false,
  opened: async () => {
    own = await harness.newOrganization();
    paths = (await harness.request('GET', '/api/schema/')).body.paths;
  },
});
let own: TestOrganization;
let paths: Record<string, Record<string, Operation>>;

const operationOf = (method: string, path: string) =>
  paths[path]?.[method] ?? assert.fail(`${method} ${path} is missing`);
const statuses = (method: string, path: string) =>
  Object.keys(operationOf(method, path).responses).map(Number);

test('two credentials are 400 on every route that asks for one; all declare it', async () => {
  for (const [path, operations] of Object.entries(paths))
    for (const method of Object.keys(operations))
      assert.ok(statuses(method, path).includes(400), `${method} ${path}`);
  const cookie = await harness.newSession(own.user);
  for (const path of ['/api/users/@me/', '/api/organizations/@current/'])
    assert.equal(
      (await harness.request('GET', path, { key: own.key, headers: { cookie } })).status,
      400,
    );
});

test('actions that look at If-Match declare it with its 412; the others declare neither', () => {
  const base = '/api/projects/{project_id}/batch_exports/';
  for (const action of ['pause', 'unpause', 'backfill', 'test', 'preview']) {
    const { parameters = [] } = operationOf('post', `${base}{id}/${action}/`);
    assert.ok(statuses('post', `${base}{id}/${action}/`).includes(412), action);
    assert.ok(
      parameters.some(({ $ref }) => $ref === '#/components/parameters/IfMatch'),
      action,
    );
  }
  assert.ok(!statuses('post', base).includes(412));
});

test('a body of another kind is 415 on a DELETE too', async () => {
  for (const [path, operations] of Object.entries(paths))
    for (const method of ['post', 'put', 'patch', 'delete'])
      // The doors of SDKs take a body of any type.
      if (operations[method] !== undefined && operations[method].tags?.[0] !== 'capture')
        assert.ok(statuses(method, path).includes(415), `${method} ${path}`);
  const cookie = await harness.newSession(own.user);
  const answer = await harness.request('DELETE', '/api/users/@me/', {
    body: 'x',
    headers: { cookie, 'content-type': 'text/plain' },
  });
  assert.equal(answer.status, 415);
});

test('a fixed path in the place of a parameter answers 405 for a missing method', async () => {
  const { key } = own;
  assert.ok(statuses('delete', '/api/personal_api_keys/{id}/').includes(405));
  const plugin = '/api/organizations/{organization_id}/pipeline_destinations/{id}/';
  assert.ok(!statuses('get', plugin).includes(405));
  const answer = await harness.request('DELETE', '/api/personal_api_keys/@current/', { key });
  assert.equal(answer.status, 405);
  assert.equal(answer.headers['allow'], 'GET, HEAD, OPTIONS');
});

test('the log as a file has its own media type in the document', () => {
  const { content } = operationOf('get', '/api/organizations/{organization_id}/activity/')
    .responses['200']!;
  assert.deepEqual(Object.keys(content!), ['application/json', 'application/x-ndjson']);
});

test('answers with validate_only are declared: 200 beside 201 and 202', () => {
  const undeclared = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([, { parameters = [] }]) => parameters.some(({ name }) => name === 'validate_only'))
      .filter(([, { responses }]) => '201' in responses || '202' in responses)
      .filter(([, { responses }]) => !('200' in responses))
      .map(([method]) => `${method} ${path}`),
  );
  assert.deepEqual(undeclared, []);
});

test('a parameter that nothing can have gets a declared answer at every path', async () => {
  const whole = withHiddenRoutes({ paths, components: {} }, harness.hiddenRoutes());
  const parametric = Object.entries(whole.paths).filter(([path]) => path.includes('{'));
  assert.ok(parametric.length > 100);
  const undeclared = new Set<string>();
  for (const [path, operations] of parametric)
    for (const method of Object.keys(operations))
      for (const odd of ['x'.repeat(101), '%zz', '%00', '%2F..']) {
        const url = path.replaceAll(/\{\w+\}/g, odd);
        const { status } = await harness.request(method.toUpperCase(), url, { key: own.key });
        if (!(status in operations[method]!.responses))
          undeclared.add(`${method} ${path} ${status}`);
      }
  assert.deepEqual([...undeclared], []);
});
