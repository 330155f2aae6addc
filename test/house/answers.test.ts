import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import { ifMatch } from '../../server/platform/http/etag.ts';
import { buildServer } from '../../server/platform/http/server.ts';
import { openHarness } from '../harness.ts';
import type { Harness, TestOrganization } from '../harness.ts';

const Thing = Type.Object({ name: Type.String() }, { title: 'Thing' });
const anybody = { scope: 'any' } as const;
const faults: Record<string, (reply: FastifyReply) => unknown> = {
  right: () => ({ name: 'x' }),
  status: (reply) => reply.code(418).send({ name: 'x' }),
  type: (reply) => reply.type('text/plain').send('x'),
  shape: () => ({ name: 1 }),
  more: () => ({ name: 'x', secret: 'y' }),
};

let harness: Harness;
let own: TestOrganization;
before(async () => {
  harness = await openHarness({
    clickhouse: false,
    build: (deps) =>
      buildServer(deps, (api) => {
        for (const [name, answer] of Object.entries(faults))
          api.get(
            `/api/${name}/`,
            { config: anybody, schema: { summary: name, response: { 200: Thing } } },
            async (_request, reply) => answer(reply),
          );
        api.post(
          '/api/things/:id/act/',
          { config: anybody, schema: { summary: 'Act', response: { 200: Thing } } },
          async (request) => {
            ifMatch(request, {});
            return { name: 'x' };
          },
        );
      }),
  });
  own = await harness.newOrganization();
});
after(() => harness.close());

test('an answer that the document does not declare fails the test that asked for it', async () => {
  const { key } = own;
  assert.equal((await harness.request('GET', '/api/right/', { key })).status, 200);
  for (const [name, message] of [
    ['status', /418 is not documented/],
    ['type', /media type "text\/plain" is not documented/],
    ['shape', /\/name must be string/],
    ['more', /must NOT have additional properties/],
  ] as const)
    await assert.rejects(harness.request('GET', `/api/${name}/`, { key }), message, name);
});

test('a POST that looks at If-Match without declaring it fails, header or not', async () => {
  const header: Record<string, string> = { 'if-match': '"x"' };
  for (const headers of [{}, header])
    await assert.rejects(
      harness.request('POST', '/api/things/1/act/', { key: own.key, headers }),
      /answered 500/,
    );
});
