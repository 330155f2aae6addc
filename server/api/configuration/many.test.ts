import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inDepth } from '../../../test/depth.ts';
import { shareHarness } from '../../../test/harness.ts';
import { openConfigurations } from '../../../test/factories/configurations.ts';

const harness = shareHarness({ clickhouse: false });

const projects = inDepth(2, 5);
const [exports, targets] = [inDepth(14, 79), inDepth(5, 20)];
const objects = projects * (1 + exports + targets);

/** Projects with many exports and targets each. */
function manyObjects(): { projects: Record<string, object> } {
  const numbers = (count: number) => Array.from({ length: count }, (_, at) => at);
  const project = (at: number) => ({
    name: `Project ${at}`,
    batch_exports: Object.fromEntries(
      numbers(exports).map((number) => [
        `export_${number}`,
        {
          name: `Export ${number}`,
          interval: 'hour',
          destination: {
            type: 'Postgres',
            config: {
              user: 'u',
              password: { secret: `pl4nted-${at}-${number}` },
              host: 'h.example.com',
              database: `d${number}`,
            },
          },
        },
      ]),
    ),
    notice_targets: Object.fromEntries(
      numbers(targets).map((number) => [
        `target_${number}`,
        { type: 'email', address: `a${number}@example.com`, batch_exports: [`export_${number}`] },
      ]),
    ),
  });
  return {
    projects: Object.fromEntries(numbers(projects).map((at) => [`project_${at}`, project(at)])),
  };
}

test('many objects: applied, nothing is left to do; few statements for each', async () => {
  const config = await openConfigurations(harness);
  const configuration = manyObjects();
  const begin = harness.deps.db.statementCount();
  const first = await config.plan(configuration);
  assert.equal(first.status, 201, first.text.slice(0, 1000));
  assert.equal(first.body.summary.create, objects);
  assert.ok((harness.deps.db.statementCount() - begin) / objects < 5);
  const applied = await config.apply(first.body.hash);
  assert.equal(applied.status, 200, applied.text.slice(0, 1000));
  const again = harness.deps.db.statementCount();
  const second = await config.plan(configuration);
  assert.deepEqual([second.body.is_empty, second.body.summary.unchanged], [true, objects]);
  // The plan compares unchanged objects together, without a statement for each.
  assert.ok(harness.deps.db.statementCount() - again < 30);
  const pulled = await config.pull();
  const third = await config.plan(
    config.answered(pulled.body.configuration, (env) => {
      const [, at, number] = /^PROJECT_(\d+)_EXPORT_(\d+)_PASSWORD$/.exec(env)!;
      return `pl4nted-${at}-${number}`;
    }),
  );
  // The organization and its first project were not in the files before.
  const steps = third.body.steps.map(({ action, path, changes }: any) => [action, path, changes]);
  assert.deepEqual(steps, [
    ['adopt', 'organization', []],
    ['adopt', 'projects.default_project', []],
  ]);
  assert.deepEqual(third.body.needs, []);
});
