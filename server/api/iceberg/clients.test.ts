import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { aroundTests, folderAroundTests } from '../../../test/around_tests.ts';
import { openHarness } from '../../../test/harness.ts';
import type { TestOrganization } from '../../../test/harness.ts';

// Installed by `python3 -m venv peers/lake && peers/lake/bin/pip install 'pyiceberg[pyarrow]==0.12.0'
// duckdb==1.5.5 duckdb-extensions==1.5.5 duckdb-extension-iceberg==1.5.5
// duckdb-extension-avro==1.5.5 duckdb-extension-httpfs==1.5.5`.
const root = join(import.meta.dirname, '../../..');
const python = join(root, 'peers/lake/bin/python');
const has = (module: string) =>
  existsSync(python) && spawnSync(python, ['-c', `import ${module}`]).status === 0;
const without = (module: string) => (has(module) ? false : `${module} is not in peers/lake.`);
const run = promisify(execFile);

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

async function client(name: string): Promise<Record<string, unknown>> {
  const script = join(root, 'test/iceberg_clients', `${name}.py`);
  const { stdout } = await run(python, [script, uri, home.key, String(home.project.id)]);
  return JSON.parse(stdout.trim().split('\n').at(-1)!) as Record<string, unknown>;
}

test(
  'PyIceberg creates, appends, races, evolves, stages, renames and drops',
  {
    skip: without('pyiceberg'),
  },
  async () => {
    const { location, ...seen } = await client('with_pyiceberg');
    assert.match(String(location), /^file:\/\/.*\/lake\/\d+\/py\/events-[0-9a-f-]{36}$/);
    assert.deepEqual(seen, {
      namespaces: [[['py']], [['py', 'inner']]],
      rows: ['a', 'b', 'c'],
      rows_after_race: 7,
      fields: [
        [1, 'uuid'],
        [2, 'n'],
        [3, 'plan'],
      ],
      stale_schema_refused: true,
      rows_after_delete: 4,
      tables: ['events', 'renamed'],
      exists: [true, false],
      changed: { removed: ['owner'], updated: ['team'], missing: [] },
      not_empty_refused: true,
      none_refused: true,
      left: ['events'],
    });
  },
);

test(
  'DuckDB reads what PyIceberg wrote, and writes, also over two tables at once',
  {
    skip: without('pyiceberg') || without('duckdb_extensions'),
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
