import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../../../test/around_tests.ts';
import { lose, withCommits } from '../../../../../test/factories/batch_exports/faulty_catalog.ts';
import { openQueryHarness } from '../../../../../test/factories/batch_exports/query_exports.ts';
import { startNessie, without_nessie } from '../../../../../test/servers/lake/nessie.ts';
import type { Nessie } from '../../../../../test/servers/lake/nessie.ts';
import { startSeaweedfs, without_seaweedfs } from '../../../../../test/servers/lake/seaweedfs.ts';
import type { Seaweedfs } from '../../../../../test/servers/lake/seaweedfs.ts';
import { openTokenIssuer } from '../../../../../test/servers/lake/token_issuer.ts';
import type { TokenIssuer } from '../../../../../test/servers/lake/token_issuer.ts';
import { destinationDeps } from '../../../exports/engine.ts';
import { executeRun } from '../../../exports/delivery/execute.ts';
import { verifyExports } from '../../../exports/verification/verify_exports.ts';
import { claimRun } from '../../../exports/workers/claims.ts';
import { findDestination } from '../../index.ts';

const skip = without_nessie || without_seaweedfs;
const servers: { store?: Seaweedfs; nessie?: Nessie; issuer?: TokenIssuer } = {};
const exporting = aroundTests(async () => {
  const opened = await openQueryHarness();
  if (skip === false) {
    servers.store = await startSeaweedfs(['lake']);
    servers.issuer = await openTokenIssuer();
    servers.nessie = await startNessie(servers.store, 'lake', servers.issuer);
  }
  const close = async () => {
    await opened.close();
    await servers.nessie?.close();
    await servers.issuer?.close();
    await servers.store?.close();
  };
  return { ...opened, close };
});
const signal = () => new AbortController().signal;

/** A table of its own in Nessie; without keys, Nessie gives those to its files. */
const configOf = (has_keys: boolean) => ({
  storage: 'S3',
  bucket_name: 'lake',
  region: 'us-east-1',
  endpoint_url: servers.store!.endpoint,
  ...(has_keys
    ? {
        aws_access_key_id: servers.store!.access_key,
        aws_secret_access_key: servers.store!.secret_key,
      }
    : {}),
  catalog: 'rest',
  catalog_uri: servers.nessie!.catalog,
  catalog_warehouse: 'lake',
  catalog_client_id: servers.issuer!.client_id,
  catalog_client_secret: servers.issuer!.client_secret,
  catalog_token_uri: servers.issuer!.token_uri,
  namespace: `n${randomUUID().replaceAll('-', '')}`,
  table: 'events',
});

for (const has_keys of [true, false])
  test(
    `Nessie: a lost answer doubles nothing, ${has_keys ? 'own keys' : 'vended keys'}`,
    { skip },
    async () => {
      const { harness } = exporting;
      const { engine, db } = harness.deps;
      const config = configOf(has_keys);
      const check = (change: object) =>
        findDestination('Iceberg')!.check(
          { ...config, ...change },
          [],
          destinationDeps(engine, signal()),
        );
      for (const { name, status, detail } of await check({}))
        assert.equal(status, 'passed', `${name}: ${detail}`);
      const [wrong] = await check({ catalog_warehouse: 'none' });
      assert.match(wrong!.detail ?? '', /Warehouse 'none' is not known/);
      const [stranger] = await check({ catalog_client_secret: 'another' });
      assert.match(stranger!.detail ?? '', /gives no token for catalog_client_id/);
      const [unknown] = await check({ catalog_client_id: '', catalog_client_secret: '' });
      assert.match(unknown!.detail ?? '', /401/);

      const home = await harness.newOrganization();
      const at = [0, 1].map((hour) => `2026-01-01T0${hour}:30:00Z`);
      await exporting.insert(
        home,
        at.flatMap((one) => ['a', 'b'].map((event) => ({ event, at: one }))),
      );
      const destination = { type: 'Iceberg', config };
      const { id } = await exporting.scheduled(home, { destination }, 2);
      const [first] = await exporting.plan(id);
      await db.run(sql`UPDATE batch_export_runs SET due_at = now() WHERE id = ${first!.id}`);
      let commits = 0;
      const losing = withCommits(engine, (send, { count }) => {
        commits = count;
        return count === 1 ? lose(send()) : send();
      });
      await executeRun(losing, (await claimRun(db, first!.id, randomUUID()))!, signal());
      const told = await db.row<{ latest_error: string | null }>(
        sql`SELECT latest_error FROM batch_export_runs WHERE id = ${first!.id}`,
      );
      assert.equal(told!.latest_error, null);
      assert.equal(commits, 1, 'the delivery was found, and sent once');
      // The catalog refuses the first token, and another one is asked for.
      servers.issuer!.expireNext();
      const given = servers.issuer!.given();
      const runs = await exporting.runAll(id);
      assert.ok(servers.issuer!.given() - given > 1, 'no token was asked for again');
      assert.deepEqual(
        runs.map(({ status, latest_error }) => [status, latest_error]),
        runs.map(() => ['Completed', null]),
      );
      const differences = (await verifyExports(engine, id)).flatMap((one) => one.differences);
      assert.deepEqual(differences, []);
    },
  );
