import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contractRows } from '../factories/contract_rows.ts';
import type { Contract } from './destination_world.ts';

/** Registers the tests of `verify`: it finds what differs, and nothing where nothing does. */
export function testVerify(contract: Contract): void {
  const { under } = contract;
  if (under.definition.shows_as_written === true) {
    test('verify says that there is nothing to read again', async () => {
      const config = await under.configure();
      const delivered = await contract.deliver(config, contract.delivery());
      assert.deepEqual(
        (await contract.verify(config, [delivered])).map((difference) => difference.kind),
        ['unreadable'],
      );
    });
    return;
  }
  test('verify finds nothing where nothing differs', async () => {
    const config = await under.configure();
    const first = contract.delivery();
    const second = { ...contract.delivery(), batch_export_id: first.batch_export_id };
    const delivered = [
      await contract.deliver(config, first),
      await contract.deliver(config, second),
    ];
    assert.deepEqual(await contract.verify(config, delivered.slice(0, 2)), []);
    // After a restore: what is there of an export, and not known.
    const unknown = under.keeps_nothing === true ? [] : [delivered[0]!.manifest];
    assert.deepEqual(await contract.receipts(config, first, second), unknown);
    assert.deepEqual(await contract.receipts(config, contract.delivery(), second), []);
  });

  if (under.keeps_nothing === true) return;
  for (const kind of ['changed', 'missing', 'added'] as const) {
    test(`verify finds what is ${kind}`, async () => {
      const config = await under.configure();
      const delivered = await contract.deliver(config, contract.delivery());
      await under.damage[kind](config, delivered.outcomes);
      const differences = await contract.verify(config, [delivered]);
      assert.deepEqual([...new Set(differences.map((difference) => difference.kind))], [kind]);
      assert.ok(
        differences.every(
          (difference) => difference.name !== '' && difference.detail.endsWith('.'),
        ),
      );
    });
  }
  testNamed(contract);
}

/** What was found is named: the row, the column, the manifest. */
function testNamed(contract: Contract): void {
  const { under } = contract;
  test('verify names the row and the column of each value that was changed', async () => {
    const config = await under.configure();
    const delivered = await contract.deliver(config, contract.delivery());
    await under.damage.value(config, delivered.outcomes);
    const differences = await contract.verify(config, [delivered]);
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
        ['changed', contractRows[0]!.uuid, 'properties', '{\\"a\\":1}', '{\\"a\\":2}'],
      ],
      JSON.stringify(differences),
    );
    contract.is_source_gone = true;
    const left = await contract.verify(config, [delivered]);
    contract.is_source_gone = false;
    assert.ok(
      left.some(({ detail }) => detail.includes('The source has its rows no more')) ||
        contract.notes.some((note) => note.includes('has no longer all rows')),
    );
  });

  test('verify names a manifest that is not the receipt', async () => {
    const config = await under.configure();
    const delivered = await contract.deliver(config, contract.delivery());
    const differences = await contract.verify(config, [
      { ...delivered, manifest: `${delivered.manifest} ` },
    ]);
    assert.deepEqual(
      differences.map((difference) => difference.kind),
      ['changed'],
    );
  });
}

/**
 * Registers the test for secrets. It comes last, because it looks at what the tests before it have
 * heard.
 */
export function testSecrets(contract: Contract): void {
  const { under } = contract;
  test(
    'no secret of a config is in a step, an error, a line of the log, a difference, a manifest, ' +
      'a name or what is kept of a slice',
    async () => {
      const config = await under.configure();
      for (const other of (await under.alternatives?.(config)) ?? []) {
        assert.ok((await contract.check(other)).every((step) => step.status === 'passed'));
        await contract.deliver(other, contract.delivery());
      }
      contract.searchSecrets();
    },
  );
}
