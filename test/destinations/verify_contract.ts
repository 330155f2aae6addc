import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { DeliveredSlices } from '../../server/engine/model/destination/destination.ts';
import type { Difference } from '../../server/engine/model/destination/difference.ts';
import { is_deep } from '../depth.ts';
import { contractRows } from '../factories/batch_exports/contract_rows.ts';
import type { Config, Contract } from './destination_world.ts';

/** Tests `verify` without differences: two unchanged deliveries of the same interval and export. */
export async function verifyBoth(
  context: TestContext,
  contract: Contract,
  config: Config,
  both: DeliveredSlices[],
): Promise<void> {
  const { under } = contract;
  const [first, second] = both as [DeliveredSlices, DeliveredSlices];
  if (under.definition.shows_as_written === true) {
    await context.test('verify says that there is nothing to read again', async () =>
      assert.deepEqual(
        (await contract.verify(config, [first])).map((difference) => difference.kind),
        ['unreadable'],
      ),
    );
    return;
  }
  await context.test('verify finds nothing where nothing differs', async () => {
    assert.deepEqual(await contract.verify(config, both), []);
    // After a restore: deliveries of an export that are there, but unknown.
    const unknown = under.keeps_nothing === true ? [] : [first.manifest];
    assert.deepEqual(await contract.receipts(config, first.delivery, second.delivery), unknown);
    const stranger = { ...contract.delivery(), batch_export_id: randomUUID() };
    assert.deepEqual(await contract.receipts(config, stranger, second.delivery), []);
  });
  const skip = under.keeps_nothing === true;
  await context.test('verify names a manifest that is not the receipt', { skip }, async () => {
    const differences = await contract.verify(config, [
      { ...first, manifest: `${first.manifest} ` },
      second,
    ]);
    assert.deepEqual(
      differences.map((difference) => difference.kind),
      ['changed'],
    );
  });
}

/**
 * Registers the tests of the findings of `verify`. One delivery is changed step by step, and each
 * time `verify` reports the new finding.
 */
export function testVerify(contract: Contract): void {
  const { under } = contract;
  const skip =
    under.definition.shows_as_written === true ||
    under.keeps_nothing === true ||
    (!is_deep && under.verify_shown_by !== undefined && `see ${under.verify_shown_by}`);
  test('verify finds the damage', { skip }, async (context) => {
    const config = await under.configure();
    const delivered = await contract.deliver(config, contract.delivery());
    const seal = await contract.seal(config, delivered);
    await context.test('a seal is the same for as long as nothing changes', async () =>
      assert.equal(await contract.seal(config, delivered), seal),
    );
    let known = await findNamed(context, contract, config, delivered);
    await context.test('a changed value changes the seal', { skip: seal === undefined }, async () =>
      assert.notEqual(await contract.seal(config, delivered), seal),
    );
    // The first slice, then the other one, whose first file is gone by then.
    const { outcomes } = delivered;
    for (const [kind, of] of [
      ['missing', outcomes],
      ['changed', outcomes.toReversed()],
      ['added', outcomes],
    ] as const)
      await context.test(`verify finds what is ${kind}`, async () => {
        await under.damage[kind](config, of);
        const found = await contract.verify(config, [delivered]);
        const told = new Set(known.map((difference) => JSON.stringify(difference)));
        const fresh = found.filter((difference) => !told.has(JSON.stringify(difference)));
        assert.deepEqual([...new Set(fresh.map((difference) => difference.kind))], [kind]);
        assert.ok(fresh.every(({ name, detail }) => name !== '' && detail.endsWith('.')));
        known = found;
      });
  });
}

/** Asserts that `verify` names the row and column of a change; returns its findings. */
async function findNamed(
  context: TestContext,
  contract: Contract,
  config: Config,
  delivered: DeliveredSlices,
): Promise<Difference[]> {
  await contract.under.damage.value(config, delivered.outcomes);
  const differences = await contract.verify(config, [delivered]);
  await context.test(
    'verify names the row and the column of each value that was changed',
    async () => {
      assert.deepEqual(
        differences
          .filter(({ column }) => column !== undefined)
          .map(({ kind, name, column, expected, found }) => [
            kind,
            name.split(' uuid=')[1],
            column,
            expected,
            found,
          ]),
        [
          ['changed', contractRows[0]!.uuid, 'event', 'plain', 'plane'],
          ['changed', contractRows[0]!.uuid, 'properties', '{"a":1}', '{"a":2}'],
        ],
        JSON.stringify(differences),
      );
      contract.is_source_gone = true;
      const left = await contract.verify(config, [delivered]);
      contract.is_source_gone = false;
      assert.ok(
        left.some(({ detail }) => detail.includes('The source no longer has its rows')) ||
          contract.notes.some((note) => note.includes('no longer has all rows')),
      );
    },
  );
  return differences;
}

/**
 * Registers the test for secrets. It is the last one, because it searches the output of the earlier
 * tests.
 */
export function testSecrets(contract: Contract): void {
  const { under } = contract;
  test('no step, error, log line, manifest or name shows a secret of a config', async () => {
    const config = await under.configure();
    for (const other of (await under.alternatives?.(config)) ?? []) {
      assert.ok((await contract.check(other)).every((step) => step.status === 'passed'));
      await contract.deliver(other, contract.delivery());
    }
    contract.searchSecrets();
  });
}
