import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { inspect } from 'node:util';
import {
  isLasting,
  isPassing,
  manifest,
} from '../../../../test/factories/batch_exports/deliveries.ts';
import { only_deep } from '../../../../test/depth.ts';
import { testDestination } from '../../../../test/destinations/destination_contract.ts';
import { repeatedSlices, writeSlice } from '../../../../test/processes/killed_delivery.ts';
import { RedshiftWorld, deliveryOf } from '../../../../test/destinations/redshift_world.ts';
import { NonRetryableError } from '../../model/destination/errors.ts';
import type { SliceOutcome } from '../../model/destination/destination.ts';
import type { Column } from '../../model/models/column.ts';
import { persons } from '../../model/models/persons.ts';
import type { RedshiftConfig } from './config.ts';
import { redshift } from './redshift.ts';

const world = new RedshiftWorld('COPY');
world.openAroundTests();
testDestination(world.under());

const json: Column[] = [
  { name: 'uuid', type: 'uuid', nullable: false, expression: 'uuid' },
  { name: 'properties', type: 'json', nullable: true, expression: 'properties' },
];
const rows = async (config: RedshiftConfig, table = 'events') =>
  (await world.pool.query(`SELECT * FROM ${world.inSchema(config, table)}`)).rows as unknown[];

test('the cluster loads by its role, and then no secret is in a statement', async () => {
  const config = await world.freshConfig({ iam_role: world.server.iam_role });
  const before = world.server.statements.length;
  await world.deliver(config, deliveryOf({ columns: json }), 'abc\t\\N\nabd\t""\n');
  assert.deepEqual(await rows(config), [
    { uuid: 'abc', properties: null },
    { uuid: 'abd', properties: '""' },
  ]);
  const sent = world.server.statements.slice(before);
  assert.equal(sent.filter((statement) => statement.startsWith('COPY')).length, 1);
  assert.ok(
    sent.every(
      (statement) =>
        !statement.includes(world.bucket.secret_key) &&
        !statement.includes(world.bucket.access_key),
    ),
  );
  assert.deepEqual(await world.objects(config), []);
});

test('persons pass through the bucket and are merged', async () => {
  const config = await world.freshConfig({ table_name: 'persons' });
  const columns = persons.columns.tables.filter(({ name }) =>
    ['team_id', 'distinct_id', 'person_version'].includes(name),
  );
  const send = (text: string) =>
    world.deliver(config, deliveryOf({ model: 'persons', columns }), text);
  await send('7\ta\t2\n7\tb\t1\n');
  await send('7\ta\t1\n7\tb\t2\n7\tb\t3\n');
  assert.deepEqual(await rows(config, 'persons'), [
    { team_id: '7', distinct_id: 'a', person_version: '2' },
    { team_id: '7', distinct_id: 'b', person_version: '3' },
  ]);
});

test('a staged object that is gone is created again by the next attempt', async () => {
  const config = await world.freshConfig();
  const given = deliveryOf();
  const write = async (attempt: number) => {
    const sink = await redshift.open(config, { ...given, attempt }, world.deps);
    const outcome: SliceOutcome = {
      number: 0,
      records: 1,
      bytes: 4,
      sha256: '',
      ...(await sink.write({ number: 0, records: 1 }, Readable.from([Buffer.from('abc\n')]))),
    };
    return { sink, outcome };
  };
  const first = await write(1);
  world.bucket.failNext(/^GET .*csv\.gz/, 404, 'NoSuchKey');
  await assert.rejects(first.sink.commit([first.outcome], manifest), isPassing('slice_lost'));
  await first.sink.close();
  const second = await redshift.open(config, { ...given, attempt: 2 }, world.deps);
  const [kept] = await second.recover([first.outcome]);
  assert.deepEqual(kept, first.outcome);
  await second.commit([first.outcome], manifest);
  await second.commit([first.outcome], manifest);
  await second.close();
  assert.equal((await rows(config)).length, 1);
  assert.deepEqual(await world.objects(config), []);
});

test('a row that the cluster cannot load is final, leaves nothing, tells no secret', async () => {
  const config = await world.freshConfig();
  await world.pool.query(`CREATE TABLE ${world.inSchema(config)} (uuid varchar(3))`);
  await assert.rejects(world.deliver(config, deliveryOf(), 'abcd\n'), isLasting('value_refused'));
  assert.deepEqual(await rows(config), []);
  await assert.rejects(
    world.deliver(
      await world.freshConfig(),
      deliveryOf({ columns: json }),
      `abc\t"${'x'.repeat(4 << 20)}"\n`,
    ),
    isLasting('limit_exceeded'),
  );
  world.bucket.failNext(/^GET .*manifest/, 403, `SignatureDoesNotMatch`);
  await assert.rejects(world.deliver(config, deliveryOf(), 'abc\n'), (error) => {
    assert.ok(error instanceof NonRetryableError && error.code === 'permission_denied');
    assert.match(error.message, /SignatureDoesNotMatch/);
    assert.ok(!inspect(error, { depth: 9, showHidden: true }).includes(world.bucket.access_key));
    return true;
  });
});

test('objects that cannot be removed are no fault of a delivery that is there', async () => {
  const config = await world.freshConfig();
  for (let times = 0; times < 3; times += 1) world.bucket.failNext(/^DELETE /, 503, 'SlowDown');
  await world.deliver(config, deliveryOf(), 'abc\n');
  assert.equal((await rows(config)).length, 1);
});

// The same by INSERT is in every run.
const killed = 'a worker that is killed in the third of five slices has only that one repeated';
test(killed, { skip: only_deep }, async () => {
  const orders = await world.fiveSlices();
  assert.deepEqual(await repeatedSlices(redshift, orders, world.deps), [2]);
  assert.deepEqual(await world.delivered(orders.config), ['0', '1', '2', '3', '4']);
  assert.deepEqual(await world.objects(orders.config), []);
});

test('an attempt that was believed dead leaves no object, whenever it comes back', async () => {
  // First with an upload that it has begun before, then once more after the next one's end.
  for (const end of ['commit', 'abort'] as const) {
    const config = await world.freshConfig();
    const given = deliveryOf();
    const dead = await redshift.open(config, given, world.deps);
    await dead.recover([]);
    const first = await writeSlice(dead, 0, 'a\n');
    const released = Promise.withResolvers<void>();
    const slow = async function* () {
      yield Buffer.from('x');
      await released.promise;
      yield Buffer.from('\n');
    };
    const begun = assert.rejects(
      dead.write({ number: 1, records: 1 }, Readable.from(slow())),
      isPassing('slice_lost'),
    );
    const next = await redshift.open(config, { ...given, attempt: 2 }, world.deps);
    assert.deepEqual(await next.recover([first]), [first]);
    const outcomes = [first, await writeSlice(next, 1, 'b\n')];
    await (end === 'abort' ? next.abort(outcomes) : next.commit(outcomes, manifest));
    await next.close();
    released.resolve();
    await begun;
    await assert.rejects(writeSlice(dead, 1, 'x\n'), isPassing('slice_lost'));
    await assert.rejects(dead.commit([first], manifest), isPassing('slice_lost'));
    await dead.close();
    assert.deepEqual(await world.objects(config), [], end);
    assert.deepEqual(await world.delivered(config), end === 'abort' ? [] : ['a', 'b'], end);
  }
});
