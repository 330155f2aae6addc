import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shareHarness } from '../../../test/harness.ts';

type Operation = {
  operationId: string;
  summary?: string;
  tags: string[];
  security?: object[];
  responses: Record<
    string,
    { description?: string; content?: Record<string, { schema: { $ref?: string } }> }
  >;
};

const harness = shareHarness({
  clickhouse: false,
  opened: async () => {
    document = (await harness.request('GET', '/api/schema/')).body;
  },
});
let document: {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, unknown>; securitySchemes: object };
};

test('the document is OpenAPI 3.1, public, with the key as its security', () => {
  assert.equal(document.openapi, '3.1.0');
  assert.deepEqual(Object.keys(document.components.securitySchemes), ['personal_api_key']);
});

const tagOf = (operations: Record<string, Operation>) => Object.values(operations)[0]!.tags[0];
/** Tags of paths that speak the protocols of others: of SDKs and of agents. */
const foreign_tags = new Set(['capture', 'mcp']);
/** The paths of the API. */
const ownPaths = () =>
  Object.entries(document.paths).filter(
    ([, operations]) => !foreign_tags.has(tagOf(operations) ?? ''),
  );

test('the doors of SDKs answer 200, 400, 401, 413 and 503, settings 304, names 404', () => {
  const doors = Object.entries(document.paths).filter(([, one]) => tagOf(one) === 'capture');
  assert.ok(doors.length > 20);
  for (const [path, operations] of doors)
    for (const [method, operation] of Object.entries(operations)) {
      const isSettings = operation.operationId.startsWith('sdk_') && method === 'get';
      const also = [...(isSettings ? ['304'] : []), ...(path.includes('{') ? ['404'] : [])];
      assert.deepEqual(
        Object.keys(operation.responses),
        ['200', '400', '401', '413', '503', ...also].sort(),
        operation.operationId,
      );
    }
});

test(
  'every operation has its own id, a summary and a tag, and documents its errors with the one ' +
    'body',
  () => {
    const ids = new Set<string>();
    for (const [path, operations] of ownPaths()) {
      assert.match(path, /^\/api\/.*\/$/);
      for (const [method, operation] of Object.entries(operations)) {
        const name = `${method} ${path}`;
        assert.ok(
          !ids.has(operation.operationId),
          `${name}: ${operation.operationId} is used twice`,
        );
        ids.add(operation.operationId);
        assert.ok(operation.summary, `${name} has no summary`);
        assert.equal(operation.tags.length, 1);
        const statuses = Object.keys(operation.responses);
        assert.ok(
          statuses.some((status) => status.startsWith('2')),
          name,
        );
        const isPublic = operation.security?.length === 0;
        for (const status of isPublic ? ['500'] : ['401', '403', '429', '500', '503'])
          assert.ok(statuses.includes(status), `${name} lacks ${status}`);
        for (const [status, response] of Object.entries(operation.responses)) {
          assert.ok(response.description, `${name} ${status}`);
          if (status >= '400')
            assert.deepEqual(
              response.content,
              { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
              `${name} ${status}`,
            );
        }
      }
    }
  },
);

test('every reference leads somewhere, and no keyword of our validator shows', () => {
  const text = JSON.stringify(document);
  for (const [, name] of text.matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g))
    assert.ok(String(name) in document.components.schemas, name);
  assert.doesNotMatch(text, /"trim":true|"wrong_detail":"/);
});

test('the page shows it with local assets only', async () => {
  const page = await harness.request('GET', '/docs/');
  assert.equal(page.status, 200);
  assert.doesNotMatch(page.text, /https?:\/\//);
  const policy = String(page.headers['content-security-policy']);
  for (const part of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"])
    assert.ok(policy.split('; ').includes(part), policy);
  const script = await harness.request('GET', '/docs/static/swagger-initializer.js');
  assert.match(script.text, /validatorUrl: null/);
});
