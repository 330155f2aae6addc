import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../../../test/around_tests.ts';
import { lose, withCommits } from '../../../../../test/factories/batch_exports/faulty_catalog.ts';
import { openQueryHarness } from '../../../../../test/factories/batch_exports/query_exports.ts';
import {
  startSeaweedfs,
  tableBucketConfig,
  without_seaweedfs,
} from '../../../../../test/servers/lake/seaweedfs.ts';
import type { Seaweedfs } from '../../../../../test/servers/lake/seaweedfs.ts';
import { destinationDeps } from '../../../exports/engine.ts';
import type { Engine } from '../../../exports/engine.ts';
import { executeRun } from '../../../exports/delivery/execute.ts';
import { verifyExports } from '../../../exports/verification/verify_exports.ts';
import { claimRun } from '../../../exports/workers/claims.ts';
import { findDestination } from '../../index.ts';

const skip = without_seaweedfs;
const servers: { store?: Seaweedfs } = {};
const exporting = aroundTests(async () => {
  const opened = await openQueryHarness();
  if (skip === false) servers.store = await startSeaweedfs([], ['lake']);
  const close = async () => {
    await opened.close();
    await servers.store?.close();
  };
  return { ...opened, close };
});
const signal = () => new AbortController().signal;

/** A table of its own in the table bucket, which checks each signature. */
const configOf = () => ({
  ...tableBucketConfig(servers.store!, 'lake'),
  namespace: `n${randomUUID().replaceAll('-', '')}`,
  table: 'events',
});

const check = (change: object, engine: Engine = exporting.harness.deps.engine) =>
  findDestination('Iceberg')!.check({ ...configOf(), ...change }, [], {
    ...destinationDeps(engine, signal()),
    aws_roles: { principal: '*', sts_endpoint_url: servers.store!.endpoint },
  });

test('a table bucket: the connection test leaves no table', { skip }, async () => {
  const steps = await check({});
  for (const { name, status, detail } of steps)
    assert.equal(status, 'passed', `${name}: ${detail}`);
  assert.deepEqual(
    steps.map(({ name }) => name),
    [
      'Sign in to the catalog',
      'Find the namespace',
      'Create a table',
      'Write an object',
      'Read it back',
      'Drop the table',
    ],
  );
});

test('a table bucket: a lost answer doubles nothing, and verify finds all', { skip }, async () => {
  const { harness } = exporting;
  const { engine, db } = harness.deps;
  const home = await harness.newOrganization();
  const at = [0, 1, 2].map((hour) => `2026-01-01T0${hour}:30:00Z`);
  await exporting.insert(
    home,
    at.flatMap((one) => ['a', 'b'].map((event) => ({ event, at: one }))),
  );
  const destination = { type: 'Iceberg', config: configOf() };
  const { id } = await exporting.scheduled(home, { destination }, 3);
  const claimed = async (run_id: string) => {
    await db.run(sql`UPDATE batch_export_runs SET due_at = now() WHERE id = ${run_id}`);
    return (await claimRun(db, run_id, randomUUID()))!;
  };
  const [first, second] = await exporting.plan(id);
  let commits = 0;
  const losing = withCommits(engine, (send, { count }) => {
    commits = count;
    return count === 1 ? lose(send()) : send();
  });
  await executeRun(losing, await claimed(first!.id), signal());
  const told = await db.row<{ latest_error: string | null }>(
    sql`SELECT latest_error FROM batch_export_runs WHERE id = ${first!.id}`,
  );
  assert.equal(told!.latest_error, null);
  assert.equal(commits, 1, 'the delivery was found, and sent once');
  // The second attempt uploads beside the files of the first, which it cannot remove.
  const away = withCommits(engine, async () => Response.json({}, { status: 500 }) as never);
  await executeRun(away, await claimed(second!.id), signal());
  const runs = await exporting.runAll(id);
  assert.deepEqual(
    runs.map(({ status, latest_error }) => [status, latest_error]),
    runs.map(() => ['Completed', null]),
  );
  for (const is_sealed of [false, true]) {
    const found = (await verifyExports(engine, id)).flatMap((one) => one.differences);
    assert.deepEqual(found, [], `sealed: ${is_sealed}`);
  }
});

test('a table bucket: a role signs, and its expired session is renewed', { skip }, async () => {
  const { engine } = exporting.harness.deps;
  const tokens = new Set<string>();
  const fetch: Engine['outbound']['fetch'] = async (url, init) => {
    const headers = (init?.headers ?? {}) as Record<string, string>;
    const token = headers['x-amz-security-token'];
    if (token === undefined || !headers['authorization']!.includes('/s3tables/'))
      return engine.outbound.fetch(url, init);
    const is_first = tokens.size === 0;
    tokens.add(token);
    if (!is_first) return engine.outbound.fetch(url, init);
    const message = 'The security token included in the request is expired';
    return Response.json({ message }, { status: 403 }) as never;
  };
  const role = { aws_role_arn: servers.store!.role_arn };
  const steps = await check(role, { ...engine, outbound: { ...engine.outbound, fetch } });
  for (const { name, status, detail } of steps)
    assert.equal(status, 'passed', `${name}: ${detail}`);
  assert.ok(tokens.size >= 2, `${tokens.size} sessions`);
});

test('a table bucket: a likely mistake is told in the words of AWS', { skip }, async () => {
  const told = async (change: object) =>
    (await check(change)).find(({ status }) => status === 'failed')?.detail ?? '';
  assert.match(await told({ aws_secret_access_key: 'wrong' }), /refused the signature.*signature/);
  assert.match(await told({ aws_access_key_id: 'wrong' }), /refused the signature/);
  const none = { catalog_warehouse: 'arn:aws:s3tables:us-east-1:000000000000:bucket/none' };
  assert.match(await told(none), /answered 404 \(table bucket none not found/);
});
