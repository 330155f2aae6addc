import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv } from 'ajv';
import { inTurn } from '../depth.ts';
import { manifest } from '../factories/batch_exports/deliveries.ts';
import { NonRetryableError } from '../../server/engine/model/destination/errors.ts';
import type { Config, Contract } from './destination_world.ts';
import { sharedMistakes, wrongKeys } from './wrong_configs.ts';

/** Registers the tests of a config: its refusals, and the result of the connection test. */
export function testConfig(contract: Contract): void {
  testMisconfigured(contract);
  testKeys(contract);
}

function testMisconfigured(contract: Contract): void {
  const { under } = contract;
  test('a config that cannot work is a final error, and fails the check', async () => {
    const good = await under.configure();
    const own = await under.misconfigure(good);
    // The search for secrets requires that each one was used.
    const isToldSecret = ({ change }: { change: object }) =>
      JSON.stringify(change).includes('pl4nted');
    const { told = [], other = [] } = Object.groupBy([...sharedMistakes(good), ...own], (one) =>
      isToldSecret(one) ? 'told' : 'other',
    );
    for (const { name, change, code } of [...told, ...inTurn(other, 3)]) {
      const config = { ...good, ...change };
      const attempt = async () => {
        const sink = await contract.open(config, contract.delivery());
        try {
          const outcomes = await contract.writeAll(sink, config);
          await sink.commit(outcomes, manifest);
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
}

function testKeys(contract: Contract): void {
  const { under } = contract;
  test('the config is checked key by key', async () => {
    const good = await under.configure();
    const check = new Ajv({ allErrors: true, strict: false }).compile(under.definition.config);
    const attrs = (config: Config): string[] => {
      const broken = check(config) ? [] : check.errors!;
      return broken.length > 0
        ? [
            ...new Set(
              broken.map(
                ({ params, instancePath }) =>
                  params['additionalProperty'] ??
                  params['missingProperty'] ??
                  instancePath.slice(1),
              ),
            ),
          ]
        : under.definition.validate(config).map((violation) => violation.attr);
    };
    assert.deepEqual(attrs(good), []);
    assert.deepEqual(attrs({ ...good, batch_export_id: 'x' }), ['batch_export_id']);
    for (const { name, change, attr = Object.keys(change)[0]! } of [
      ...wrongKeys(under.definition.config),
      ...under.invalid,
    ]) {
      const config = { ...good, ...change };
      for (const key of Object.keys(config)) if (config[key] === undefined) delete config[key];
      assert.ok(attrs(config).includes(attr), `${name}: ${attrs(config).join()}`);
    }
    for (const key of under.definition.secrets)
      assert.ok(key in under.definition.config.properties);
  });
}
