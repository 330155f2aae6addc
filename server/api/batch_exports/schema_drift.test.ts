import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../test/around_tests.ts';
import { openQueryHarness } from '../../../test/factories/batch_exports/query_exports.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import { addColumns, removeColumns } from '../../engine/model/schema/store.ts';
import type { TypedProperty } from '../../engine/model/schema/store.ts';

const exporting = aroundTests(openQueryHarness);
const events = [0, 1, 2, 3].map((hour) => ({
  event: `event ${hour}`,
  at: `2026-01-01T0${hour}:10:00Z`,
  properties: { plan: 'pro', amount: hour === 0 ? 7 : '9.99' },
}));

async function add(home: TestOrganization, property: string, type: TypedProperty['type']) {
  await exporting.harness.deps.db.transaction((tx) =>
    addColumns(tx, home.project.id, [{ source: 'event', property, type }], null),
  );
}

async function openExport(fields: object) {
  const home = await exporting.harness.newOrganization();
  await exporting.insert(home, events);
  await add(home, 'amount', 'integer');
  const destination = { type: 'NoOp', config: {} };
  const made = await exporting.scheduled(home, { destination, columns: 'typed', ...fields }, 1);
  /** Runs the export up to an hour, and gives the facts of all notices so far. */
  const upTo = async (hour: number) => {
    await exporting.extend(made.id, hour);
    await exporting.runAll(made.id);
    const notices = await exporting.harness.deps.db.rows<{ event: string; data: any }>(sql`
      SELECT event, body::jsonb -> 'data' AS data FROM notices
      WHERE batch_export_id = ${made.id} ORDER BY created_at, id`);
    return notices.map(({ event, data }) => {
      assert.equal(event, 'schema_drift');
      return data;
    });
  };
  return { home, ...made, upTo };
}

test('a notice tells of misfits and of other columns, once for each schema', async () => {
  const { home, upTo } = await openExport({});
  assert.deepEqual(await upTo(1), []);
  const [misfit, ...none] = await upTo(3);
  assert.deepEqual(none, []);
  assert.deepEqual(misfit.values_unfit, [{ property: 'amount', values_unfit: 1 }]);
  assert.match(misfit.detail, /^1 value did not fit .+"amount" 1\. .+this is 1\.$/);
  await add(home, 'plan', 'text');
  const [, added, again, ...others] = await upTo(4);
  assert.deepEqual(others, []);
  assert.deepEqual(
    [added.schema_number, added.waits, added.added, added.removed],
    [2, false, [{ property: 'plan', type: 'text', column: 'p_plan' }], []],
  );
  assert.match(added.detail, /^Schema 2 adds 1 column \(p_plan text\) to what the export delivers/);
  assert.equal(again.schema_number, 2);
});

test('an export that waits says what waits, until somebody takes it', async () => {
  const { home, get, send, upTo } = await openExport({ new_columns: 'wait' });
  const waiting = async () => (await get('')).body.waiting_schema;
  assert.deepEqual(await upTo(1), []);
  assert.equal(await waiting(), null);
  await add(home, 'plan', 'text');
  await exporting.harness.deps.db.transaction((tx) =>
    removeColumns(tx, home.project.id, [{ source: 'event', column: 'p_amount' }]),
  );
  assert.deepEqual(await waiting(), {
    schema_number: 3,
    added: [{ property: 'plan', type: 'text', column: 'p_plan' }],
    removed: [{ property: 'amount', type: 'integer', column: 'p_amount' }],
  });
  const told = (await upTo(3)).filter(({ waits }) => waits === true);
  assert.deepEqual(
    told.map(({ detail }) => detail),
    [
      'Schema 3 has 1 column (p_plan text) and no longer has 1 column (p_amount integer). The ' +
        'export waits: set its `schema_number` to 3 to take the change.',
    ],
  );
  const taken = await send('PATCH', '', { schema_number: 3 });
  assert.equal(taken.body.waiting_schema, null);
  assert.equal((await upTo(4)).filter(({ waits }) => waits !== undefined).length, 1);
});

test('columns of events are no change of an export of persons', async () => {
  const { home, get } = await openExport({ model: 'persons', new_columns: 'wait' });
  await add(home, 'plan', 'text');
  assert.equal((await get('')).body.waiting_schema, null);
});
