import { randomUUID } from 'node:crypto';
import { appendFile, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { newExport } from '../../../../test/factories/batch_exports/batch_exports.ts';
import { contractColumns } from '../../../../test/factories/batch_exports/contract_rows.ts';
import { folderAroundTests } from '../../../../test/around_tests.ts';
import { testDestination } from '../../../../test/destinations/destination_contract.ts';
import { openHarness } from '../../../../test/harness.ts';
import type { Harness } from '../../../../test/harness.ts';
import { parseParquet } from '../../../../test/watchers/read_formats.ts';
import { destinationDeps } from '../../exports/engine.ts';
import { findDestination } from '../index.ts';
import { file_place } from '../file/file.ts';
import { loadTable } from '../lake/delta_log/log.ts';
import { filesIn } from './verify.ts';
import { openWorld } from '../lake/delta_log/world.ts';

const root = folderAroundTests();
let harness: Harness;
let owner: { team_id: number; batch_export_id: string };
const deps = () => destinationDeps(harness.deps.engine, new AbortController().signal);
const pathOf = (name: string | undefined) => join(root, name ?? '');
const folderOf = (config: Record<string, unknown>) =>
  join(root, 'delta', String(owner.team_id), 'tests', String(config['table']));

async function start() {
  harness = await openHarness({ clickhouse: false, config: { export_dir: root } });
  const home = await harness.newOrganization();
  owner = { team_id: home.project.id, batch_export_id: (await newExport(home)).id };
  return deps();
}

testDestination({
  definition: findDestination('Delta')!,
  start,
  stop: () => harness.close(),
  owner: () => owner,
  configure: async () => ({
    storage: 'File',
    prefix: 'tests',
    table: `t${randomUUID().replaceAll('-', '_')}`,
  }),
  readBack: async (config) => {
    const { log } = await openWorld(file_place, config, owner.team_id, deps());
    const names = [...filesIn(await loadTable(log)).keys()].toSorted();
    const rows = await Promise.all(
      names.map(async (name) =>
        parseParquet(await readFile(join(folderOf(config), name)), contractColumns),
      ),
    );
    return rows.flat() as Record<string, unknown>[];
  },
  leftovers: async (config) => {
    const names = await readdir(folderOf(config), { recursive: true }).catch(() => []);
    return names.filter((name) => name.endsWith('.tmp') || name.includes('probe-'));
  },
  misconfigure: async () => [],
  invalid: [
    { name: 'an unknown storage', change: { storage: 'Tape' } },
    { name: 'a name with a slash', change: { table: 'a/b' } },
    { name: 'a variable', change: { prefix: '{year}' } },
    { name: 'dots', change: { prefix: '../x' } },
    { name: 'a bucket without its name', change: { storage: 'S3' }, attr: 'bucket_name' },
    {
      name: 'a container without its name',
      change: { storage: 'AzureBlob' },
      attr: 'container_name',
    },
  ],
  damage: {
    changed: async (_config, [outcome]) => {
      const path = pathOf(outcome?.name);
      const bytes = await readFile(path);
      bytes[20] = (bytes[20] ?? 0) ^ 1;
      await writeFile(path, bytes);
    },
    value: async (_config, [outcome]) => appendFile(pathOf(outcome?.name), 'x'),
    missing: (_config, [outcome]) => rm(pathOf(outcome?.name)),
    added: (_config, [outcome]) =>
      writeFile(pathOf(outcome?.name).replace('-0000.', '-0007.'), 'x'),
  },
  verify_shown_by: 'file.test.ts',
  planted_elsewhere: [
    'aws_access_key_id',
    'aws_secret_access_key',
    'service_account_json',
    'connection_string',
    'account_key',
    'sas_token',
  ],
  is_unordered: true,
  has_nul: true,
  recovers: true,
});
