import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { Span, doAs, newId } from '../../../platform/tracing/span.ts';
import { RetryableError } from '../../model/destination/errors.ts';
import { lasting } from '../../model/destination/faults.ts';
import { explainFault } from './faults.ts';
import { partTimeout } from './object_store.ts';
import type { ObjectStore } from './object_store.ts';
import { partBytes, uploadParts } from './upload.ts';

/** A store of which only parts are asked for. */
function partsOnly(uploadPart: (number: number, bytes: Buffer) => Promise<void>): ObjectStore {
  const faults = {
    explain: (error: unknown) =>
      explainFault(error, { by_name: {}, by_status: {} }, ({ name }) => ({
        names: [name],
        status: undefined,
        said: '',
      })),
    isUnavailable: () => false,
  };
  const send: ObjectStore['uploadPart'] = async (_key, _id, number, bytes) => {
    await uploadPart(number, bytes);
    return { number, etag: `${number}` };
  };
  return { faults, uploadPart: send } as Partial<ObjectStore> as ObjectStore;
}

test('at most three parts are in progress, and a failed one ends the stream', async () => {
  let underWay = 0;
  let most = 0;
  let taken = 0;
  const store = partsOnly(async (number) => {
    underWay += 1;
    most = Math.max(most, underWay);
    await new Promise(setImmediate);
    underWay -= 1;
    if (number === 7) throw new Error('part 7 failed');
  });
  const piece = Buffer.alloc(4 << 20);
  const endless = Readable.from(
    (function* () {
      for (; ; taken += 1) yield piece;
    })(),
    { highWaterMark: 1 },
  );
  await assert.rejects(uploadParts(store, 'key', 'id', endless), /part 7 failed/);
  assert.ok(most <= 3 && taken < 40, `${most} under way, ${taken} taken`);
  assert.ok(endless.destroyed);
});

test('parts are in order and hold every byte, whatever the pieces of the stream', async () => {
  const sent = new Map<number, Buffer>();
  const store = partsOnly(async (number, bytes) => {
    await new Promise((resolve) => setTimeout(resolve, number === 1 ? 20 : 0));
    sent.set(number, Buffer.from(bytes));
  });
  const whole = Buffer.alloc(20 << 20, 'abcdefghijk');
  const pieces = [whole.subarray(0, 1), whole.subarray(1, 17 << 20), whole.subarray(17 << 20)];
  const parts = await uploadParts(store, 'key', 'id', Readable.from(pieces));
  assert.deepEqual(
    parts.map((part) => part.number),
    [1, 2, 3],
  );
  assert.deepEqual(
    [sent.get(1)?.length, sent.get(2)?.length, sent.get(3)?.length],
    [8 << 20, 8 << 20, 4 << 20],
  );
  assert.ok(Buffer.concat(parts.map((part) => sent.get(part.number)!)).equals(whole));
  assert.deepEqual(await uploadParts(store, 'key', 'id', Readable.from([])), []);
});

test('errors of the store are explained, those of the source never, alike or not', async () => {
  const timeout = Object.assign(new Error('too slow'), { name: 'TimeoutError' });
  const failing = partsOnly(() => Promise.reject(timeout));
  await assert.rejects(
    uploadParts(failing, 'key', 'id', Readable.from([Buffer.from('x')])),
    (error) => error instanceof RetryableError,
  );
  const source = Readable.from(
    (async function* () {
      yield Buffer.from('x');
      throw timeout;
    })(),
  );
  await assert.rejects(
    uploadParts(
      partsOnly(async () => undefined),
      'key',
      'id',
      source,
    ),
    (error) => error === timeout,
  );
});

test('10,000 parts hold 400 GiB and more', () => {
  let bytes = 0;
  for (let number = 1; number <= 10_000; number += 1) bytes += partBytes(number);
  assert.ok(bytes > 400 * 1024 ** 3);
});

test('a part has time in proportion to its size', () => {
  assert.equal(partTimeout(0), 30_000);
  assert.equal(partTimeout(50 * 1024 * 1024), 554_288);
});

test('an error is known by name, by connection, by status, and behind other errors', () => {
  const table = {
    by_name: { Full: lasting('disk_full', 'It is full.') },
    by_status: { 403: lasting('permission_denied', 'It may not.') },
  };
  const cases: [Error, { names: string[]; status?: number }, string | undefined][] = [
    [new Error('a'), { names: ['Full', 'ECONNRESET'], status: 403 }, 'disk_full'],
    [new Error('b'), { names: ['ECONNRESET'], status: 403 }, 'connection_lost'],
    [new Error('c'), { names: ['other'], status: 403 }, 'permission_denied'],
    [new Error('d'), { names: [], status: 429 }, 'throttled'],
    [new Error('e'), { names: [], status: 502 }, 'store_fault'],
    [new Error('f'), { names: [], status: 418 }, 'request_refused'],
    [new Error('g'), { names: ['constructor', '__proto__'], status: 204 }, undefined],
    [
      new Error('h', {
        cause: new Error('i', {
          cause: Object.assign(new Error('refused'), { code: 'outbound_refused' }),
        }),
      }),
      { names: [] },
      'outbound_refused',
    ],
  ];
  for (const [error, { names, status }, code] of cases) {
    const explained = explainFault(error, table, () => ({ names, status, said: '' }));
    if (code === undefined) assert.equal(explained, error);
    else assert.equal((explained as RetryableError).code, code, error.message);
  }
});

test('each part is a span below the work that uploads it, whoever reads the source', async () => {
  const ended: Span[] = [];
  const onEnd = (span: Span) => void ended.push(span);
  const slice = new Span(
    { trace_id: newId(16), is_sampled: true, origin_ms: 0, onEnd },
    'slice',
    {},
  );
  const bytes = Readable.from([Buffer.alloc(partBytes(1)), Buffer.alloc(5)]);
  await doAs(
    slice,
    async () =>
      void (await uploadParts(
        partsOnly(async () => {}),
        'k',
        'i',
        bytes,
      )),
  );
  assert.deepEqual(
    ended.map(({ name, parent_id, attributes }) => [name, parent_id, attributes['sluice.bytes']]),
    [
      ['part', slice.span_id, partBytes(1)],
      ['part', slice.span_id, 5],
      ['slice', undefined, undefined],
    ],
  );
});
