import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { storedEvents } from '../../../test/factories/stored_events.ts';
import { openHarness } from '../../../test/harness.ts';
import type { Harness, TestOrganization } from '../../../test/harness.ts';
import { protocols } from './protocols.ts';

let harness: Harness;
let home: TestOrganization;
before(async () => {
  harness = await openHarness();
  home = await harness.newOrganization();
});
after(() => harness.close());

const doors = protocols.flatMap(({ match }) =>
  match
    .filter(({ methods = ['POST'] }) => methods.includes('POST'))
    .map(({ paths }) => paths.at(-1)!),
);
const deep = '['.repeat(1_000_000);
const protobuf = { 'content-type': 'application/x-protobuf' };
/** A list within a list, a thousand times, as protobuf writes it. */
function deepRecord(): Buffer {
  let value = Buffer.alloc(0);
  const wrap = (tag: number) => {
    const length = [];
    for (let rest = value.length; ; rest >>>= 7) {
      length.push(rest > 127 ? (rest & 127) | 128 : rest);
      if (rest <= 127) break;
    }
    value = Buffer.concat([Buffer.from([tag, ...length]), value]);
  };
  for (let level = 0; level < 1_000; level += 1) for (const tag of [0x0a, 0x2a]) wrap(tag);
  for (const tag of [0x2a, 0x12, 0x12, 0x0a]) wrap(tag);
  return value;
}

/** Bodies that nobody's SDK sends, by what is wrong with them. */
const bodies: Record<string, [body: Buffer | string, headers?: Record<string, string>]> = {
  'half a character': [Buffer.from([0x7b, 0x22, 0xc3])],
  'a million brackets': [deep],
  'a million brackets inside': [`{"batch":[{"event":"x","distinct_id":${deep}`],
  'only null': ['null'],
  'prototype keys': ['{"__proto__":{"batch":[]},"constructor":1,"batch":{"__proto__":[]}}'],
  'huge numbers': [`{"batch":[{"timestamp":1e999,"offset":-1e308,"uuid":${'9'.repeat(400)}}]}`],
  'a list of everything': [
    '{"batch":[null,1,"",[],{},true],"data":[null,[],{}],"resourceLogs":[0]}',
  ],
  'a hundred thousand empty events': [`{"batch":[${'{},'.repeat(100_000)}{}]}`],
  'seven million lists': [`[${'[],'.repeat(6_900_000)}[]]`],
  'broken protobuf': [Buffer.alloc(2_000, 0xff), protobuf],
  'deep protobuf': [deepRecord(), protobuf],
};

for (const [says, [body, headers = {}]] of Object.entries(bodies))
  test(`${says}: every door refuses it, and the server goes on`, { timeout: 120_000 }, async () => {
    const { api_token } = home.project;
    for (const path of doors) {
      const sent = { body, headers: { authorization: `Bearer ${api_token}`, ...headers } };
      const { status, text } = await harness.request('POST', path, sent);
      assert.ok([200, 400, 401, 413].includes(status), `${path}: ${status} ${text.slice(0, 200)}`);
    }
    assert.equal((await harness.request('GET', '/healthz')).status, 200);
  });

test('nothing of it is stored, and nothing of it has changed what objects are', async () => {
  assert.deepEqual(
    (await storedEvents(harness.deps, home.project.id)).filter(({ event }) => event !== 'log'),
    [],
  );
  assert.equal(({} as { batch?: unknown }).batch, undefined);
});
