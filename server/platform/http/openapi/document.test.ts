import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { destinations } from '../../../engine/destinations/index.ts';
import { shareHarness } from '../../../../test/harness.ts';
import { resolved } from '../../../../test/watchers/document.ts';

type Operation = {
  operationId: string;
  summary?: string;
  tags: string[];
  security?: object[];
  requestBody?: Response;
  responses: Record<string, Response | { $ref: string }>;
};
type Response = {
  description?: string;
  content?: Record<string, { schema: { $ref?: string } }>;
};

const harness = shareHarness({
  clickhouse: false,
  opened: async () => {
    document = (await harness.request('GET', '/api/schema/')).body;
    protocols = (await harness.request('GET', '/api/schema/protocols/')).body;
  },
});
type Published = {
  openapi: string;
  servers: { url: string }[];
  info: { description: string };
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: Record<string, Record<string, unknown>>;
};
let document: Published;
let protocols: Published;

test('the document is OpenAPI 3.1, public, with key and session as its security', () => {
  assert.equal(document.openapi, '3.1.0');
  assert.deepEqual(Object.keys(document.components['securitySchemes']!), [
    'personal_api_key',
    'session',
  ]);
  assert.deepEqual(document.servers[0]!.url, harness.deps.config.public_url);
  for (const head of ['Authentication', 'Errors', 'Pagination', 'Idempotency', 'ETags'])
    assert.match(document.info.description, new RegExp(`^## ${head}$`, 'm'));
});

test('each schema of the documents is one of JSON Schema 2020-12, as OpenAPI 3.1 wants', () => {
  const ajv = new Ajv2020({ strict: false });
  let seen = 0;
  const check = (schema: object, place: string) => {
    seen += 1;
    assert.ok(ajv.validateSchema(schema), `${place}: ${ajv.errorsText()}`);
  };
  const walk = (part: unknown, place: string) => {
    if (typeof part !== 'object' || part === null) return;
    for (const [name, value] of Object.entries(part))
      if (name === 'schema') check(value as object, place);
      else if (!/^(?:schemas|examples?)$/.test(name)) walk(value, `${place}/${name}`);
  };
  for (const published of [document, protocols]) {
    walk(published.paths, 'paths');
    walk(published.components, 'components');
    for (const [name, schema] of Object.entries(published.components['schemas']!))
      check(schema as object, name);
  }
  assert.ok(seen > 500, String(seen));
});

const tagOf = (operations: Record<string, Operation>) => Object.values(operations)[0]!.tags[0];

test('the doors of SDKs answer 200, 400, 401, 413 and 503, settings 304, names 404', () => {
  const doors = Object.entries(protocols.paths).filter(([, one]) => tagOf(one) === 'capture');
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

test('every operation has an id, a summary and a tag, and documents its errors', () => {
  const ids = new Set<string>();
  for (const [path, operations] of Object.entries(document.paths)) {
    assert.match(path, /^\/api\/.*\/$/);
    for (const [method, operation] of Object.entries(operations)) {
      const name = `${method} ${path}`;
      assert.ok(!ids.has(operation.operationId), `${name}: ${operation.operationId} is used twice`);
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
      for (const [status, found] of Object.entries(operation.responses)) {
        const response = resolved(document, found);
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
});

test('every reference leads somewhere, and no keyword of our validator shows', () => {
  for (const one of [document, protocols]) {
    const text = JSON.stringify(one);
    for (const [, place, name] of text.matchAll(/"#\/components\/(\w+)\/([^"]+)"/g))
      assert.ok(Object.hasOwn(one.components[place!]!, name!), name);
    assert.doesNotMatch(text, /"trim":true|"wrong_detail":"/);
  }
});

test('every body and every answer of fields has a name', () => {
  const isNamed = ({ schema }: { schema: { properties?: object; $ref?: string } }) =>
    schema.$ref !== undefined || Object.keys(schema.properties ?? {}).length === 0;
  for (const operations of Object.values(document.paths))
    for (const { operationId, requestBody, responses } of Object.values(operations)) {
      const contents = [
        requestBody,
        ...Object.values(responses).map((one) => resolved(document, one)),
      ];
      for (const content of contents.flatMap((one) => Object.values(one?.content ?? {})))
        assert.ok(isNamed(content), operationId);
    }
});

test('the type tells destinations apart', () => {
  const { oneOf, discriminator } = document.components['schemas']!['Destination'] as {
    oneOf: { $ref: string }[];
    discriminator: { propertyName: string; mapping: Record<string, string> };
  };
  assert.equal(discriminator.propertyName, 'type');
  assert.deepEqual(
    Object.keys(discriminator.mapping),
    destinations.map(({ type }) => type),
  );
  assert.deepEqual(
    Object.values(discriminator.mapping),
    oneOf.map(({ $ref }) => $ref),
  );
});

test('the documents come compressed as the client takes them, each with its tag', async () => {
  for (const path of ['/api/schema/', '/api/schema/protocols/']) {
    const plain = await harness.app.inject({ url: path });
    const tags = new Set([plain.headers['etag']]);
    for (const [encoding, unpack] of [
      ['br', brotliDecompressSync],
      ['gzip', gunzipSync],
    ] as const) {
      const headers = { 'accept-encoding': encoding };
      const { rawPayload, headers: answered } = await harness.app.inject({ url: path, headers });
      assert.equal(answered['content-encoding'], encoding);
      assert.equal(answered['vary'], 'accept-encoding');
      assert.equal(unpack(rawPayload).toString(), plain.body);
      assert.ok(rawPayload.length * 5 < plain.rawPayload.length);
      const tag = String(answered['etag']);
      tags.add(tag);
      const again = await harness.app.inject({
        url: path,
        headers: { ...headers, 'if-none-match': tag },
      });
      assert.deepEqual([again.statusCode, again.body], [304, '']);
    }
    assert.equal(tags.size, 3);
  }
});

test('the page shows it with local assets only', async () => {
  const page = await harness.request('GET', '/docs/operations/');
  assert.equal(page.status, 200);
  assert.doesNotMatch(page.text, /https?:\/\//);
  const script = /src="\.\.\/\.\.(\/assets\/reference-[\w-]{8}\.js)"/.exec(page.text)![1]!;
  assert.equal((await harness.request('GET', script)).status, 200);
  const led = await harness.request('GET', '/docs/operations');
  assert.deepEqual([led.status, led.headers['location']], [308, '/docs/operations/']);
  const policy = String(page.headers['content-security-policy']);
  for (const part of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"])
    assert.ok(policy.split('; ').includes(part), policy);
});
