import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { Delivery, SliceOutcome } from '../../server/engine/model/destination/destination.ts';
import { isLasting } from '../factories/batch_exports/deliveries.ts';
import { manifestText } from './destination_world.ts';
import type { Config, Contract } from './destination_world.ts';

const instants = ['2026-01-01T01:00:00.000Z', '2026-01-01T02:00:00.000Z'] as const;

/** A place, and the export whose generations are delivered there. */
type Scene = { contract: Contract; config: Config; generation(at: string): Delivery };

/**
 * Registers the tests of deliveries that replace a table, for destinations of tables. Generations
 * of one export follow each other. An older one arrives late, one is empty, and other writers write
 * there too.
 */
export function testReplacing(contract: Contract): void {
  if (contract.under.definition.column_set !== 'tables') return;
  test('a generation replaces a table, and never a later generation', async (context) => {
    const config = await contract.under.configure();
    const { batch_export_id } = contract.delivery();
    const generation = (at: string): Delivery => ({
      ...contract.delivery(),
      batch_export_id,
      merge: null,
      generation: at,
    });
    await contract.deliver(config, { ...contract.delivery(), batch_export_id });
    const scene = { contract, config, generation };
    await followEachOther(context, scene);
    await endOtherwise(context, scene);
  });
}

async function followEachOther(context: TestContext, scene: Scene): Promise<void> {
  const { contract, config, generation } = scene;
  const { under } = contract;
  const whole = contract.expected();
  await context.test('a connection test tries the rights that it needs', async () => {
    const { columns } = contract.delivery();
    const deps = { ...contract.deps, merge: null, replaces: true };
    const steps = await under.definition.check(config, columns, deps);
    const unlike = steps.filter(({ status }) => status !== 'passed');
    assert.deepEqual(unlike, []);
    assert.ok(steps.some(({ name }) => ['Delete rows', 'Exchange tables'].includes(name)));
    assert.deepEqual(await contract.readBack(config), whole);
    assert.deepEqual(await under.leftovers(config), []);
  });
  await context.test('the first one takes the place of appended rows', async () => {
    await deliver(contract, config, generation(instants[0]), [0, 1]);
    assert.deepEqual(await contract.readBack(config), whole);
  });
  const second = generation(instants[1]);
  const part = whole.filter(({ uuid }) => isOfSecond(contract, uuid));
  const assertSecond = async () => {
    assert.deepEqual(await contract.readBack(config), part);
    assert.deepEqual(await receiptsAt(contract, config, second), [second.delivery_id]);
    assert.deepEqual(await under.leftovers(config), []);
  };
  await context.test('the next one leaves its rows alone, and its receipt', async () => {
    await deliver(contract, config, second, [1]);
    await assertSecond();
  });
  await context.test('a repeat of its commit changes nothing', async () => {
    const sink = await contract.open(config, { ...second, run_id: randomUUID(), attempt: 2 });
    assert.equal(await sink.isCommitted(), true);
    await sink.close();
    await assertSecond();
  });
  await context.test('an older one is refused at its commit', async () => {
    const late = generation(instants[0]);
    await assert.rejects(deliver(contract, config, late, [0, 1]), isLasting('superseded'));
    await assertSecond();
  });
}

async function endOtherwise(
  context: TestContext,
  { contract, config, generation }: Scene,
): Promise<void> {
  const whole = contract.expected();
  await context.test('one that breaks off is followed by the next attempt', async () => {
    const next = generation(instants[1]);
    const dead = await contract.open(config, next);
    const outcomes = [await contract.write(dead, config, 0)];
    await dead.close();
    await deliver(contract, config, { ...next, attempt: 2 }, [0, 1], outcomes);
    assert.deepEqual(await contract.readBack(config), whole);
  });
  await context.test('one without rows empties the table', async () => {
    const empty = generation(instants[1]);
    await deliver(contract, config, empty, []);
    assert.deepEqual(await contract.readBack(config), []);
    assert.deepEqual(await receiptsAt(contract, config, empty), [empty.delivery_id]);
  });
  await context.test('rows of another export are not lost', async () => {
    await contract.deliver(config, contract.delivery());
    const next = generation(instants[1]);
    await assert.rejects(deliver(contract, config, next, [1]), isLasting('table_shared'));
    assert.deepEqual(await contract.readBack(config), whole);
    assert.deepEqual(await contract.under.leftovers(config), []);
  });
}

/** Rows of the second slice of the contract, by their order in it. */
function isOfSecond(contract: Contract, uuid: unknown): boolean {
  return contract.uuidsOf(1).includes(String(uuid));
}

async function deliver(
  contract: Contract,
  config: Config,
  delivery: Delivery,
  numbers: number[],
  known: SliceOutcome[] = [],
): Promise<void> {
  const sink = await contract.open(config, delivery);
  try {
    const outcomes = await sink.recover(known);
    for (const number of numbers)
      if (!outcomes.some((one) => one.number === number))
        outcomes.push(await contract.write(sink, config, number));
    const { generation } = delivery;
    const text = JSON.stringify({ generation, ...JSON.parse(manifestText(delivery, outcomes)) });
    try {
      await sink.commit(outcomes, { name: 'manifest', text });
    } catch (error) {
      await sink.abort(outcomes);
      throw error;
    }
  } finally {
    await sink.close();
  }
}

async function receiptsAt(contract: Contract, config: Config, of: Delivery): Promise<string[]> {
  const texts = await contract.receipts(config, of, contract.delivery());
  return texts.map((text) => JSON.parse(text!).delivery_id);
}
