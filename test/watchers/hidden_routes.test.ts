import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { RouteOptions } from 'fastify';
import { buildApp } from '../../server/app.ts';
import { openPathFinder } from '../fuzz/operations.ts';
import type { FuzzedDocument } from '../fuzz/operations.ts';
import { openHarness } from '../harness.ts';
import type { Harness } from '../harness.ts';
import { openAnswerCheck } from './answers.ts';
import { withHiddenRoutes } from './hidden_routes.ts';

let harness: Harness;
const routes: RouteOptions[] = [];
let paths: FuzzedDocument['paths'];
let faultsOf: (method: string, path: string, status: number, text?: string) => string[];
let problem: string;
before(async () => {
  harness = await openHarness({
    clickhouse: false,
    build: (deps) => {
      const app = buildApp(deps);
      app.addHook('onRoute', (route) => void routes.push({ ...route }));
      return app;
    },
  });
  problem = (await harness.request('POST', '/nowhere/')).text;
  const document = harness.app.swagger() as unknown as FuzzedDocument;
  const whole = withHiddenRoutes(document, harness.hiddenRoutes());
  ({ paths } = whole);
  const check = openAnswerCheck(whole);
  const pathOf = openPathFinder(whole);
  faultsOf = (method, path, status, text = '') =>
    check({
      method,
      path: pathOf(method, path) ?? path,
      status,
      content_type: text === problem ? 'application/problem+json' : 'application/json',
      text,
    });
});
after(() => harness.close());

const rows: [string, string, number[], number[]][] = [
  ["a door of an SDK without the document's slash", 'POST /v1/track', [200, 401], [201, 308, 404]],
  ['the preflight of a door', 'OPTIONS /v1/track/', [200], [204, 404, 405]],
  ['HEAD of a path that only POST has', 'HEAD /v1/track/', [405], [200, 204, 404]],
  ['GET of another one', 'GET /b/', [405], [200, 401, 404]],
  ['what an SDK asks for besides', 'GET /decide', [200, 304, 503], [204, 404, 500]],
  ['a path of the API without its slash', 'PATCH /api/organizations/1', [308, 404], [200, 401]],
  ['a method that a path lacks', 'PUT /api/organizations/', [405], [200, 404]],
  ['OPTIONS of the API', 'OPTIONS /api/organizations/', [204], [200, 404]],
  ['a page that is led to', 'GET /login/github/', [303, 404], [302, 500]],
  ['a path that nobody has', 'DELETE /nowhere/', [404, 413], [200, 204, 308, 405]],
];
for (const [says, asked, declared, undeclared] of rows)
  test(`an undeclared answer is found: ${says}`, () => {
    const [method = '', path = ''] = asked.split(' ');
    for (const status of declared) assert.deepEqual(faultsOf(method, path, status), []);
    for (const status of undeclared)
      assert.equal(faultsOf(method, path, status).length, 1, String(status));
  });

test('a body that a hidden route does not declare is found', () => {
  assert.deepEqual(faultsOf('PUT', '/api/organizations/', 405, problem), []);
  assert.equal(faultsOf('PUT', '/api/organizations/', 405, '{}').length, 1);
  assert.equal(faultsOf('OPTIONS', '/v1/track/', 200, 'x').length, 1);
  const changed = JSON.stringify({ ...JSON.parse(problem), more: 1 });
  assert.equal(faultsOf('PUT', '/api/organizations/', 405, changed).length, 1);
});

test('every route of the server is one of the document, or declares itself', () => {
  const unknown = routes.flatMap(({ method, url }) => {
    const known = paths[url.replaceAll(/:(\w+)/g, '{$1}')] ?? {};
    return [method]
      .flat()
      .map((one) => one.toLowerCase())
      .filter((one) => known[one] === undefined && !(one === 'head' && 'get' in known))
      .map((one) => `${one} ${url}`);
  });
  assert.deepEqual(unknown, []);
  assert.ok(routes.length > 300);
});
