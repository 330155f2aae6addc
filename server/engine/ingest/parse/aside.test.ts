import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findJsonFault } from '../../../platform/json/json_scan.ts';
import { aside_bytes_min, readLineAside, readListAside } from './aside.ts';
import type { ReadEvent } from './event.ts';
import { checkOnly, takeLines, takeList } from '../stream.ts';

const now = Date.parse('2026-01-01T00:00:00Z');
const event = { event: 'e', distinct_id: 'd' };
const list = (text: string) => Buffer.from(`{"events":[${text}]}`);
const take = (bytes: Buffer) =>
  takeList(checkOnly({ intakeOf: () => undefined }), 1, bytes, () => now);
const long = ' '.repeat(aside_bytes_min);

/** Processor milliseconds of this thread, which a busy machine does not change. */
async function processorTime(work: () => Promise<unknown> | void): Promise<number> {
  const before = process.threadCpuUsage();
  await work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

test('a list whose thread ended is an error, not an end', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const read = await readListAside(list(Array(2_000).fill(JSON.stringify(event)).join(',')), now);
  assert.ok('reads' in read);
  const reads = read.reads[Symbol.asyncIterator]();
  assert.equal((await reads.next()).done, false);
  context.mock.timers.tick(30_000);
  await assert.rejects(async () => reads.next(), /ended before the end of its list/);
});

test('a long list is read by the thread and says the same as a short one', async () => {
  const bad = [event, 1, { ...event, timestamp: 'x' }, { ...event, uuid: null }];
  const text = bad.map((one) => JSON.stringify(one)).join(',');
  const bytes = list(text + long);
  const aside = await take(bytes);
  assert.equal(bytes.length, 0, 'The bytes were handed over.');
  assert.deepEqual(aside, await take(list(text)));
  assert.ok(!('fault' in aside) && aside.taken === 1 && aside.rejected === 3 && aside.is_list);
  assert.deepEqual(await take(Buffer.from(JSON.stringify(event) + long)), {
    taken: 1,
    duplicates: 0,
    refused: 0,
    dropped: 0,
    rejected: 0,
    problems: [],
    is_list: false,
  });
});

test('numbers in $set keep their spelling on the way from the thread', async () => {
  const text = '{"event":"e","distinct_id":"d","$set":{"n":1.50,"big":12345678901234567890}}';
  const bytes = Buffer.from(`{"events":[${text}${long}]}`);
  const opened = await readListAside(bytes, now);
  assert.ok('reads' in opened);
  const sets: string[] = [];
  for await (const reads of opened.reads)
    sets.push(...reads.map(({ event: read }) => JSON.stringify(read?.set)));
  const line = await readLineAside(Buffer.from(text + long), now);
  sets.push(JSON.stringify(line?.event?.set));
  const wanted = '{"n":1.50,"big":12345678901234567890}';
  assert.deepEqual(sets, [wanted, wanted]);
});

test('the thread reports the same faults of a body as the main thread', async () => {
  for (const [text, fault] of [
    ['{"events":[{}', 'not_json'],
    ['[]', 'not_an_object'],
    ['{}', 'required'],
    ['{"events":null}', 'null'],
    ['{"events":1}', 'not_a_list'],
    ['['.repeat(200_000), 'not_json'],
  ] as const) {
    for (const whole of [text, text + long]) {
      const place = fault === 'not_json' ? { place: findJsonFault(whole) } : {};
      assert.deepEqual(await take(Buffer.from(whole)), { fault, ...place });
    }
  }
  const many = `[${'1,'.repeat(2_000_000)}1]`;
  assert.deepEqual(await take(Buffer.from(many)), { fault: 'too_many' });
  const broken = Buffer.concat([Buffer.from([0xff]), Buffer.from(long)]);
  assert.deepEqual(await take(broken), { fault: 'not_utf8' });
});

test('events of a list come a few at a time, each once, in order, until one stops', async () => {
  const text = Array.from({ length: 5_000 }, (_none, index) =>
    JSON.stringify({ ...event, distinct_id: `d${index}` }),
  ).join(',');
  const read = await readListAside(list(text), now);
  assert.ok('reads' in read);
  const ids: string[] = [];
  for await (const reads of read.reads) {
    assert.ok(reads.length <= 500);
    ids.push(...reads.map((one: ReadEvent) => one.event!.distinct_id));
  }
  assert.deepEqual(
    ids,
    Array.from({ length: 5_000 }, (_none, index) => `d${index}`),
  );
  const other = await readListAside(list(text), now);
  assert.ok('reads' in other);
  for await (const reads of other.reads) {
    assert.ok(reads.length > 0);
    break;
  }
  assert.equal((await readLineAside(Buffer.from(JSON.stringify(event)), now))?.event?.event, 'e');
});

test('long lines go to the thread, blank ones and the byte order mark are left out', async () => {
  const lines = [
    `\uFEFF${JSON.stringify({ ...event, properties: { x: 'y'.repeat(aside_bytes_min) } })}`,
    long,
    JSON.stringify(event),
    `${JSON.stringify(event)}${long}x`,
  ];
  async function* source() {
    yield Buffer.from(lines.join('\n'));
  }
  const taken = await takeLines(checkOnly({ intakeOf: () => undefined }), 1, source(), () => now);
  assert.deepEqual(taken, {
    taken: 2,
    duplicates: 0,
    refused: 0,
    dropped: 0,
    rejected: 1,
    problems: [
      {
        attr: null,
        code: 'parse_error',
        detail: `This is not valid JSON from column ${lines[3]!.length} on.`,
        position: 4,
      },
    ],
  });
});

test('the main thread spends little of the time of any long body', async () => {
  const size = 4 * 1024 * 1024;
  let keys = '{"k":1';
  for (let index = 0; keys.length < size; index += 1) keys += `,"${index.toString(36)}":1`;
  const text = `${keys}}`;
  // The first time it also starts the thread.
  await take(Buffer.from(text));
  const here = await processorTime(() => void JSON.parse(text));
  const aside = await processorTime(() => take(Buffer.from(text)));
  assert.ok(aside < here / 2, `${aside} ms here, ${here} ms to read it`);
});
