import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { after, before, test } from 'node:test';
import { Compile } from 'typebox/compile';
import { NonRetryableError } from '../../server/engine/destination/errors.ts';
import { contractRows, large_bytes } from '../factories/contract_rows.ts';
import { Contract, manifestText } from './destination_world.ts';
import type { Config, DestinationUnderTest } from './destination_world.ts';
import { testValues } from './values_contract.ts';

/**
 * Registers the tests that every destination must pass. Slices are written by ClickHouse itself, in
 * the destination's own encoding. Of a destination that shows slices as they are written, what
 * needs a commit, a removal or a second reading is not asked; that a repeat doubles nothing is, by
 * a receiver that knows the keys of its requests. Gives the world of the tests, for more of them: a
 * process can have but one.
 */
export function testDestination(under: DestinationUnderTest): Contract {
  const contract = new Contract(under);
  before(() => contract.start());
  after(() => contract.stop());
  testDelivery(contract);
  testLargeValue(contract);
  testValues(contract);
  testFaults(contract);
  testCrashes(contract);
  testConfig(contract);
  testVerify(contract);
  testSecrets(contract);
  return contract;
}

function testDelivery(contract: Contract): void {
  const { under } = contract;
  test('delivers every value of two slices, in order where the place keeps one', async () => {
    const config = await under.configure();
    await contract.deliver(config, contract.delivery());
    assert.deepEqual(await contract.readBack(config), contract.expected());
  });

  test('shows nothing before commit', { skip: !contract.has_commit }, async () => {
    const config = await under.configure();
    const delivery = contract.delivery();
    const sink = await contract.open(config, delivery);
    assert.equal(await sink.isCommitted(), false);
    const outcomes = await contract.writeAll(sink, config);
    assert.deepEqual(await contract.readBack(config), []);
    await sink.commit(outcomes, { name: 'manifest', text: manifestText(delivery, outcomes) });
    assert.equal((await contract.readBack(config)).length, contract.expected().length);
    await sink.close();
  });

  test('a repeated commit changes nothing, and the next sink knows that all is done', async () => {
    const config = await under.configure();
    const delivery = contract.delivery();
    const sink = await contract.open(config, delivery);
    const outcomes = await contract.writeAll(sink, config);
    const manifest = { name: 'manifest', text: manifestText(delivery, outcomes) };
    await sink.commit(outcomes, manifest);
    await sink.commit(outcomes, manifest);
    await sink.close();
    const next = await contract.open(config, { ...delivery, attempt: 2 });
    assert.equal(await next.isCommitted(), contract.has_commit);
    await next.close();
    assert.deepEqual(await contract.readBack(config), contract.expected());
  });

  test('a repeat of the same delivery doubles nothing', async () => {
    const config = await under.configure();
    const delivery = contract.delivery();
    await contract.deliver(config, delivery);
    const again = await contract.deliver(config, { ...delivery, run_id: randomUUID(), attempt: 2 });
    assert.deepEqual(await contract.readBack(config), contract.expected());
    if (contract.has_commit) assert.deepEqual(await contract.verify(config, [again]), []);
  });

  test('two deliveries of the same interval stand beside each other', async () => {
    const config = await under.configure();
    await contract.deliver(config, contract.delivery());
    await contract.deliver(config, contract.delivery());
    assert.equal((await contract.readBack(config)).length, contract.expected(2).length);
  });
}

function testLargeValue(contract: Contract): void {
  const { under } = contract;
  test('a property of 10 MB comes whole, or is refused for good before anything is shown', async () => {
    const config = await under.configure();
    const delivery = contract.delivery();
    const sink = await contract.open(config, delivery);
    const deliver = async () => {
      const outcomes = [await contract.writeLarge(sink, config)];
      await sink.commit(outcomes, { name: 'manifest', text: manifestText(delivery, outcomes) });
    };
    if (under.large_refused_as !== undefined) {
      await assert.rejects(
        deliver(),
        (error) => error instanceof NonRetryableError && error.code === under.large_refused_as,
      );
      await sink.abort([]);
    } else await deliver();
    await sink.close();
    const found = await contract.readBack(config);
    const isEmpty = under.keeps_nothing === true || under.large_refused_as !== undefined;
    assert.equal(found.length, isEmpty ? 0 : 1);
    // Not by deepEqual, which would print it all.
    if (!isEmpty)
      assert.ok(
        (found[0]!['properties'] as { large: string }).large ===
          '0123456789abcdef'.repeat(large_bytes / 16),
      );
    assert.deepEqual(await under.leftovers(config), []);
  });
}

function testFaults(contract: Contract): void {
  const { under } = contract;
  test('abort leaves nothing, also twice, and when nothing was written', async () => {
    const config = await under.configure();
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
  });
}

function testCrashes(contract: Contract): void {
  const { under } = contract;
  test('after a crash between slices the next sink goes on, and leaves nothing of the dead one', async () => {
    const config = await under.configure();
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
  });

  test('a slice that is gone or cut is not recovered', { skip: !contract.has_commit }, async () => {
    const config = await under.configure();
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

  test('an error of the source in the middle is thrown as it is, and nothing of the slice counts', async () => {
    const config = await under.configure();
    const delivery = contract.delivery();
    const sink = await contract.open(config, delivery);
    const failure = new Error('the query failed');
    const source = Readable.from(
      (async function* () {
        yield Buffer.from('half a ');
        throw failure;
      })(),
    );
    await assert.rejects(
      sink.write({ number: 0, records: 1 }, source),
      (error) => error === failure,
    );
    await sink.close();
    const next = await contract.open(config, { ...delivery, attempt: 2 });
    const outcomes = await contract.writeAll(next, config);
    await next.commit(outcomes, { name: 'manifest', text: manifestText(delivery, outcomes) });
    await next.close();
    assert.deepEqual(await contract.readBack(config), contract.expected());
    assert.deepEqual(await under.leftovers(config), []);
  });
}

function testConfig(contract: Contract): void {
  const { under } = contract;
  test('what cannot work is a final error with its own code, and the connection test says so', async () => {
    const good = await under.configure();
    for (const { name, config, code } of await under.misconfigure(good)) {
      const attempt = async () => {
        const sink = await contract.open(config, contract.delivery());
        try {
          const outcomes = await contract.writeAll(sink, config);
          await sink.commit(outcomes, { name: 'manifest', text: '{}' });
        } finally {
          await sink.close();
        }
      };
      await assert.rejects(attempt(), (error) => {
        assert.ok(error instanceof NonRetryableError, `${name}: ${String(error)}`);
        assert.equal(error.code, code, `${name}: ${error.message}`);
        assert.match(error.message, /\.$/);
        return true;
      });
      const steps = await contract.check(config);
      assert.equal(steps.filter((step) => step.status === 'failed').length, 1, name);
    }
  });

  test('the connection test passes and leaves nothing', async () => {
    const config = await under.configure();
    const steps = await contract.check(config);
    assert.deepEqual(
      steps.filter((step) => step.status !== 'passed'),
      [],
    );
    assert.ok(
      steps.length > 0 && steps.every((step) => step.duration_ms >= 0 && step.detail.endsWith('.')),
    );
    assert.deepEqual(await under.leftovers(config), []);
    assert.deepEqual(await contract.readBack(config), []);
  });

  test('the config is checked key by key', async () => {
    const good = await under.configure();
    const schema = Compile(under.definition.config);
    const attrs = (config: Config): string[] => {
      const broken = [...schema.Errors(config)].flatMap((error) => {
        const params = error.params as {
          additionalProperties?: string[];
          requiredProperties?: string[];
        };
        return (
          params.additionalProperties ?? params.requiredProperties ?? [error.instancePath.slice(1)]
        );
      });
      return broken.length > 0
        ? [...new Set(broken)]
        : under.definition.validate(config).map((violation) => violation.attr);
    };
    assert.deepEqual(attrs(good), []);
    assert.deepEqual(attrs({ ...good, batch_export_id: 'x' }), ['batch_export_id']);
    for (const { name, change, attr } of under.invalid) {
      const config = { ...good, ...change };
      for (const key of Object.keys(config)) if (config[key] === undefined) delete config[key];
      assert.ok(attrs(config).includes(attr), `${name}: ${attrs(config).join()}`);
    }
    for (const key of under.definition.secrets)
      assert.ok(key in under.definition.config.properties);
    for (const [key, value] of Object.entries(under.definition.config.properties))
      assert.ok('description' in value, `${key} has no description`);
  });
}

function testVerify(contract: Contract): void {
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
    const delivered = [
      await contract.deliver(config, contract.delivery()),
      await contract.deliver(config, contract.delivery()),
    ];
    assert.deepEqual(await contract.verify(config, delivered.slice(0, 2)), []);
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

/** Comes last, because it looks at what the tests before it have heard. */
function testSecrets(contract: Contract): void {
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
