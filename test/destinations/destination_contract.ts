import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { after, before, test } from 'node:test';
import { isLasting } from '../factories/batch_exports/deliveries.ts';
import type { Delivery, SliceOutcome } from '../../server/engine/model/destination/destination.ts';
import { is_deep } from '../depth.ts';
import { contractRows, large_bytes } from '../factories/batch_exports/contract_rows.ts';
import { Contract, manifestText } from './destination_world.ts';
import type { Config, DestinationUnderTest } from './destination_world.ts';
import { testConfig } from './config_contract.ts';
import { testNativeTypes } from './native_contract.ts';
import { testReplacing } from './replace_contract.ts';
import { testSecrets, testVerify, verifyBoth } from './verify_contract.ts';
import { testValues } from './values_contract.ts';

/**
 * Registers the tests that every destination must pass. ClickHouse itself writes the slices, in the
 * destination's own encoding. A destination that shows slices as they are written is not tested for
 * commits, removals and second readings. For a receiver that recognizes the keys of its requests, a
 * repeat must double nothing. Returns the world of the tests, for additional tests: a process can
 * only have one.
 */
export function testDestination(under: DestinationUnderTest): Contract {
  const contract = new Contract(under);
  before(() => contract.start());
  after(() => contract.stop());
  testDelivery(contract);
  testLargeValue(contract);
  testValues(contract);
  testAttempts(contract);
  testErasure(contract);
  testReplacing(contract);
  testNativeTypes(contract);
  testConfig(contract);
  testVerify(contract);
  testSecrets(contract);
  return contract;
}

/**
 * Tests one delivery from its first attempt to its repeat, and another one beside it. Each test
 * continues where the previous one has ended, because a new delivery for each took most of their
 * time.
 */
function testDelivery(contract: Contract): void {
  const { under, has_commit } = contract;
  test('a delivery, from its first attempt to its repeat', async (context) => {
    const config = await under.configure();
    const first = contract.delivery();
    await context.test(
      'an error of the source is thrown unchanged, and its slice does not count',
      () => failSource(contract, config, first),
    );
    const sink = await contract.open(config, { ...first, attempt: 2 });
    const outcomes: SliceOutcome[] = [];
    await context.test('shows nothing before commit', { skip: !has_commit }, async () => {
      assert.equal(await sink.isCommitted(), false);
      outcomes.push(...(await contract.writeAll(sink, config)));
      assert.deepEqual(await contract.readBack(config), []);
    });
    if (!has_commit) outcomes.push(...(await contract.writeAll(sink, config)));
    const manifest = { name: 'manifest', text: manifestText(first, outcomes) };
    const assertWhole = async () =>
      assert.deepEqual(await contract.readBack(config), contract.expected());
    await context.test(
      'delivers every value of two slices, in order where the place keeps one',
      async () => {
        await sink.commit(outcomes, manifest);
        await assertWhole();
        assert.deepEqual(await under.leftovers(config), []);
      },
    );
    await context.test(
      'a repeated commit changes nothing, and the next sink knows that',
      async () => {
        await sink.commit(outcomes, manifest);
        await sink.close();
        const next = await contract.open(config, { ...first, attempt: 3 });
        assert.equal(await next.isCommitted(), has_commit);
        await next.close();
        await assertWhole();
      },
    );
    const again = { ...first, run_id: randomUUID(), attempt: 4 };
    const delivered = await contract.deliver(config, again);
    await context.test('a repeat of the same delivery doubles nothing', () => assertWhole());
    const second = { ...contract.delivery(), batch_export_id: first.batch_export_id };
    const both = [delivered, await contract.deliver(config, second)];
    await context.test('two deliveries of the same interval are both there', async () =>
      assert.equal((await contract.readBack(config)).length, contract.expected(2).length),
    );
    await verifyBoth(context, contract, config, both);
  });
}

async function failSource(contract: Contract, config: Config, delivery: Delivery): Promise<void> {
  const sink = await contract.open(config, delivery);
  const failure = new Error('the query failed');
  const source = Readable.from(
    (async function* () {
      yield Buffer.from('half a ');
      throw failure;
    })(),
  );
  await assert.rejects(sink.write({ number: 0, records: 1 }, source), (error) => error === failure);
  await sink.close();
}

function testLargeValue(contract: Contract): void {
  const { under } = contract;
  const skip = !is_deep && under.large_shown_by !== undefined && `see ${under.large_shown_by}`;
  const said = 'a property of 10 MB comes whole, or is refused before anything is shown';
  test(said, { skip }, async () => {
    const config = await under.configure();
    const delivery = contract.delivery();
    const sink = await contract.open(config, delivery);
    const deliver = async () => {
      const outcomes = [await contract.writeLarge(sink, config)];
      await sink.commit(outcomes, { name: 'manifest', text: manifestText(delivery, outcomes) });
    };
    if (under.large_refused_as !== undefined) {
      await assert.rejects(deliver(), isLasting(under.large_refused_as));
      await sink.abort([]);
    } else await deliver();
    await sink.close();
    const found = await contract.readBack(config);
    const isEmpty = under.keeps_nothing === true || under.large_refused_as !== undefined;
    assert.equal(found.length, isEmpty ? 0 : 1);
    // Not by deepEqual, which would print all of it.
    if (!isEmpty)
      assert.ok(
        (found[0]!['properties'] as { large: string }).large ===
          '0123456789abcdef'.repeat(large_bytes / 16),
      );
    assert.deepEqual(await under.leftovers(config), []);
  });
}

/** Tests attempts that leave nothing behind, and one that continues with leftovers. */
function testAttempts(contract: Contract): void {
  const { under, has_commit } = contract;
  test('attempts that end before their commit', async (context) => {
    const config = await under.configure();
    await context.test(
      'abort leaves nothing, also twice, and when nothing was written',
      async () => {
        const delivery = contract.delivery();
        const sink = await contract.open(config, delivery);
        const outcomes = await contract.writeAll(sink, config);
        await sink.abort(outcomes);
        await sink.abort(outcomes);
        await sink.close();
        if (under.definition.shows_as_written !== true)
          assert.deepEqual(await contract.readBack(config), []);
        assert.deepEqual(await under.leftovers(config), []);
        const next = await contract.open(config, { ...delivery, attempt: 2 });
        await next.abort([]);
        await next.close();
        assert.deepEqual(await under.leftovers(config), []);
      },
    );
    const skip = !has_commit;
    await context.test('a slice that is gone or cut is not recovered', { skip }, async () => {
      const delivery = contract.delivery();
      const dead = await contract.open(config, delivery);
      const outcome = await contract.write(dead, config, 0);
      await dead.close();
      const sink = await contract.open(config, { ...delivery, attempt: 2 });
      assert.deepEqual(await sink.recover([{ ...outcome, bytes: outcome.bytes + 1 }]), []);
      assert.deepEqual(await sink.recover([outcome]), []);
      await sink.abort([]);
      await sink.close();
    });
    const place = has_commit ? config : await under.configure();
    await context.test('the sink after a crash continues, and nothing of the dead one stays', () =>
      goOn(contract, place),
    );
  });
}

async function goOn(contract: Contract, config: Config): Promise<void> {
  const { under } = contract;
  const delivery = contract.delivery();
  const dead = await contract.open(config, delivery);
  const first = await contract.write(dead, config, 0);
  const unknown = await contract.write(dead, config, 1);
  await dead.close();
  const sink = await contract.open(config, { ...delivery, attempt: 2 });
  assert.equal(await sink.isCommitted(), false);
  const surviving = await sink.recover([first]);
  assert.deepEqual(surviving, under.recovers ? [first] : []);
  const outcomes = [
    surviving[0] ?? (await contract.write(sink, config, 0)),
    await contract.write(sink, config, 1),
  ];
  assert.notEqual(outcomes[1], unknown);
  await sink.commit(outcomes, { name: 'manifest', text: manifestText(delivery, outcomes) });
  await sink.close();
  assert.deepEqual(await contract.readBack(config), contract.expected());
  assert.deepEqual(await under.leftovers(config), []);
}

function testErasure(contract: Contract): void {
  const { under } = contract;
  const { erases } = under.definition;
  // Rows leave a table of our own catalog without a run.
  const skip = erases === undefined || erases === 'in_table';
  test('erased rows leave a delivery, and its receipt is replaced', { skip }, async () => {
    const config = await under.configure();
    const delivery = contract.delivery();
    await contract.deliver(config, delivery);
    // The second of two slices is erased as a whole, then the first one too.
    for (const kept of [[0], []]) {
      const erased = contractRows.slice(kept.length * 7).map(({ uuid }) => uuid);
      const again: Delivery = {
        ...delivery,
        run_id: randomUUID(),
        erased: { keys: () => Readable.from([erased]) },
      };
      // The second one as after a kill behind the commit.
      for (const attempt of [1, 2]) {
        const sink = await contract.open(config, { ...again, attempt });
        const outcomes: SliceOutcome[] = [];
        for (const number of kept) outcomes.push(await contract.write(sink, config, number));
        const text = manifestText(again, outcomes);
        await sink.commit(outcomes, { name: 'manifest', text });
        await sink.close();
      }
      const left = (await contract.readBack(config)).map(({ uuid }) => uuid);
      assert.deepEqual(
        left.toSorted(),
        contractRows
          .slice(0, kept.length * 7)
          .map(({ uuid }) => uuid)
          .toSorted(),
      );
      assert.deepEqual(await under.leftovers(config), []);
    }
  });
}
