import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { aroundTests, folderAroundTests } from '../../../test/around_tests.ts';
import { openHarness } from '../../../test/harness.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import { pyicebergSees, sparkSees } from '../../../test/iceberg_clients/seen.ts';
import {
  jarsOf,
  runClient,
  without,
  withoutSpark,
} from '../../../test/iceberg_clients/run_client.ts';

const export_dir = folderAroundTests();
let home: TestOrganization;
let uri: string;
aroundTests(
  () => openHarness({ clickhouse: false, config: { export_dir } }),
  async (opened) => {
    home = await opened.newOrganization();
    await opened.app.listen({ host: '127.0.0.1', port: 0 });
    const { port } = opened.app.server.address() as AddressInfo;
    uri = `http://127.0.0.1:${port}/iceberg`;
  },
);

const client = (name: string, ...more: string[]) =>
  runClient(name, [uri, home.key, String(home.project.id), ...more]);

test(
  'PyIceberg creates, appends, races, evolves, stages, renames and drops',
  {
    skip: without('pyiceberg'),
  },
  async () => {
    const { location, ...seen } = await client('with_pyiceberg');
    assert.match(String(location), /^file:\/\/.*\/lake\/\d+\/py\/events-[0-9a-f-]{36}$/);
    assert.deepEqual(seen, pyicebergSees);
  },
);

test(
  'DuckDB reads what PyIceberg wrote, and writes, also over two tables at once',
  {
    skip: without('pyiceberg', 'duckdb_extensions'),
  },
  async () => {
    assert.deepEqual(await client('with_duckdb'), {
      before: [
        ['b', 2, null],
        ['b', 2, null],
        ['b', 2, null],
        ['c', 3, null],
      ],
      after: 5,
      pairs: [
        ['x', 5, null],
        ['z', 3, null],
      ],
      made: [[1]],
      tables: ['events', 'pairs'],
    });
    assert.equal((await home.ask('GET', `/iceberg/v1/${home.project.id}/namespaces`)).status, 200);
  },
);

const spark_jar = 'iceberg-spark-runtime';
test(
  'Spark creates, merges, evolves, compacts, expires, branches, renames and purges',
  { skip: withoutSpark(spark_jar) },
  async () => {
    const { version, ...seen } = await client('with_spark', jarsOf(spark_jar));
    assert.match(String(version), /^4\./);
    assert.deepEqual(seen, sparkSees(['py', 'duck']));
  },
);
