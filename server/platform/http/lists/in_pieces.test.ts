import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fastify } from 'fastify';
import { request } from 'undici';
import { JsonText, answerInPieces } from './in_pieces.ts';

const record = (length: number) => ({ id: 1, text: 'ä"\n'.repeat(length), none: undefined });
const page = (results: unknown[]) => ({
  count: results.length,
  next: null,
  none: undefined,
  results,
});
const pages: Record<string, unknown> = {
  empty: page([]),
  short: page([record(1), 'text', null, [1]]),
  long: page(Array.from({ length: 40 }, () => record(50_000))),
  alone: page([record(500_000)]),
  created: page([{ id: 1, created: new JsonText('[1,{"a":"b"}]'), none: undefined, last: null }]),
  'created beside': { id: 1, created: new JsonText('{}') },
  behind: { results: [1], count: 1 },
  record: { id: 1, name: 'results' },
};

test('an answer has the same JSON, however long it is, and a short one its length', async () => {
  const app = fastify();
  app.get<{ Params: { name: string } }>(
    '/:name',
    { preSerialization: [answerInPieces] },
    async ({ params }) => pages[params.name],
  );
  for (const [name, value] of Object.entries(pages)) {
    const text = JSON.stringify(value);
    const { body, headers } = await app.inject(`/${name}`);
    assert.equal(body, text, name);
    assert.equal(headers['content-type'], 'application/json; charset=utf-8');
    const isShort = text.length < 256 * 1024;
    assert.equal(headers['content-length'], isShort ? String(Buffer.byteLength(text)) : undefined);
    assert.equal((await app.inject({ method: 'HEAD', url: `/${name}` })).statusCode, 200);
  }
  await app.close();
});

test('the first piece of a long list is sent before the last record is created', async () => {
  const count = 30;
  let created = 0;
  const one = record(100_000);
  const counted = {
    toJSON: () => {
      created += 1;
      return one;
    },
  };
  const app = fastify();
  app.get('/', { preSerialization: [answerInPieces] }, async () =>
    page(Array.from({ length: count }, () => counted)),
  );
  const { body } = await request(await app.listen({ host: '127.0.0.1', port: 0 }));
  body.once('data', () => assert.ok(created < count, `${created} records were created`));
  await body.dump({ limit: 1e9 });
  assert.equal(created, count);
  await app.close();
});
