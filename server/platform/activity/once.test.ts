import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FastifyInstance } from 'fastify';
import pg from 'pg';
import sql from 'sql-template-tag';
import { Type } from 'typebox';
import { openHarness } from '../../../test/harness.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import { buildServer } from '../http/server.ts';
import { conflict } from '../http/errors.ts';
import { write } from '../http/write.ts';
import type { Entry, RecordActivity } from '../http/write.ts';
import { verifyActivity } from './verify.ts';
import { aroundTests } from '../../../test/around_tests.ts';

let effects = 0;
let attempts = 0;
let home: TestOrganization;
const harness = aroundTests(
  () => openHarness({ clickhouse: false, build: (deps) => buildServer(deps, routes) }),
  async (opened) => {
    home = await opened.newOrganization();
  },
);

const entry: Entry = {
  activity: 'touched',
  scope: 'thing',
  item_id: '1',
  item_name: 'Thing',
  changes: [],
};

/** The calls that a handler may make to the log, and their outcome. */
const ways: Record<string, (record: RecordActivity) => void> = {
  once: (record) => record(entry),
  never: () => {},
  twice: (record) => [entry, entry].forEach(record),
  'twice-nothing': (record) => ['nothing' as const, entry].forEach(record),
  nothing: (record) => record('nothing'),
  refused: (record) => {
    record(entry);
    throw conflict('The handler refuses after it recorded: try again.');
  },
  repeated: (record) => {
    record(entry);
    attempts += 1;
    // PostgreSQL's error for the loser of a deadlock.
    if (attempts === 1) {
      const deadlock = new pg.DatabaseError('deadlock detected', 0, 'error');
      throw Object.assign(deadlock, { code: '40P01' });
    }
  },
};

function routes(app: FastifyInstance): void {
  for (const [name, say] of Object.entries(ways)) {
    const schema = { summary: name, response: { 200: Type.Object({ done: Type.Boolean() }) } };
    app.post(
      `/api/organizations/:organization_id/${name}/`,
      { config: { scope: 'organization:write', within: 'organization' }, schema },
      (request, reply) =>
        write(request, reply, 200, async (tx, record, afterwards) => {
          await tx.run(
            sql`UPDATE organizations SET name = ${name}
              WHERE id = ${request.access.organization_id}::uuid`,
          );
          afterwards(async () => (effects += 1));
          say(record);
          return { done: true };
        }),
    );
  }
}

const cases: [way: string, query: string, status: number, changes: boolean, entries: number][] = [
  ['once', '', 200, true, 1],
  ['once', '?validate_only=true', 200, false, 0],
  ['nothing', '', 200, true, 0],
  ['never', '', 500, false, 0],
  ['twice', '', 500, false, 0],
  ['twice-nothing', '', 500, false, 0],
  ['refused', '', 409, false, 0],
  ['repeated', '', 200, true, 1],
];

for (const [way, query, status, changes, entries] of cases) {
  test(
    `a handler that records ${way}${query}: ${status}, ${changes ? 'the change' : 'no change'}, ` +
      `${entries} entries`,
    async () => {
      const count = async () =>
        (await verifyActivity(harness.deps.db, harness.deps.secrets)).entries;
      const [before_it, effects_before] = [await count(), effects];
      await harness.deps.db.run(
        sql`UPDATE organizations SET name = 'As it was' WHERE id = ${home.organization.id}::uuid`,
      );
      const url = `/api/organizations/${home.organization.id}/${way}/${query}`;
      const answer = await harness.app.inject({
        method: 'POST',
        url,
        headers: { authorization: `Bearer ${home.key}` },
      });
      assert.equal(answer.statusCode, status, answer.body);
      const row = await harness.deps.db.row<{ name: string }>(
        sql`SELECT name FROM organizations WHERE id = ${home.organization.id}::uuid`,
      );
      assert.equal(row!.name, changes ? way : 'As it was');
      assert.equal((await count()) - before_it, entries);
      assert.equal(effects - effects_before, changes ? 1 : 0);
    },
  );
}

test('a repeat under the same Idempotency-Key records nothing more', async () => {
  const ask = () =>
    home.ask(
      'POST',
      `/api/organizations/${home.organization.id}/once/`,
      {},
      { 'idempotency-key': 'the-same' },
    );
  const { entries } = await verifyActivity(harness.deps.db, harness.deps.secrets);
  for (let count = 0; count < 3; count += 1) assert.equal((await ask()).status, 200);
  assert.equal((await verifyActivity(harness.deps.db, harness.deps.secrets)).entries, entries + 1);
});

test('requests that race leave one entry each, without gaps', async () => {
  const { entries } = await verifyActivity(harness.deps.db, harness.deps.secrets);
  const url = `/api/organizations/${home.organization.id}/once/`;
  const answers = await Promise.all(Array.from({ length: 20 }, () => home.ask('POST', url, {})));
  assert.ok(answers.every(({ status }) => status === 200));
  assert.deepEqual(await verifyActivity(harness.deps.db, harness.deps.secrets), {
    entries: entries + 20,
    chains: 1,
    entries_changed: 0,
    faults_found: 0,
    faults: [],
  });
});
