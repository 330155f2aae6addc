import assert from 'node:assert/strict';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { aroundTests, folderAroundTests } from '../../../test/around_tests.ts';
import { newLakeTable } from '../../../test/factories/lake_tables.ts';
import { openHarness } from '../../../test/harness.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import { writeManifestList } from '../../engine/destinations/lake/manifest_list.ts';
import type { ListedManifest } from '../../engine/destinations/lake/manifest_list.ts';

const export_dir = folderAroundTests();
type Table = Awaited<ReturnType<typeof newLakeTable>>;
let [own, stranger]: TestOrganization[] = [];
let [mine, theirs]: Table[] = [];
let base: string;
const harness = aroundTests(
  () => openHarness({ clickhouse: false, config: { export_dir } }),
  async (opened) => {
    own = await opened.newOrganization();
    stranger = await opened.newOrganization();
    mine = await newLakeTable(own, 'sales');
    theirs = await newLakeTable(stranger, 'sales');
    base = `/iceberg/v1/${own.project.id}/namespaces`;
  },
);

const refusal = (method: string, path: string, body?: unknown) =>
  own!.ask(method, path, body).then(({ status, body: told }) => `${status} ${told.error?.type}`);
const forbidden = '403 ForbiddenException';
const folderOf = (project_id: number) => `file://${join(export_dir, 'lake', String(project_id))}`;

/** Places of others, and ways out of one's own. */
const elsewhere = () => {
  const here = folderOf(own!.project.id);
  const there = folderOf(stranger!.project.id);
  return [
    there,
    `${there}/sales/x`,
    theirs!.metadata.location,
    `${here}/../${stranger!.project.id}/sales`,
    `${here}/sales/../../${stranger!.project.id}/sales`,
    `${here}/sales/%2e%2e/%2e%2e/${stranger!.project.id}`,
    `${here}/sales/./x`,
    `${here}/sales//x`,
    `${here}x/sales`,
    `${here}/sales/*`,
    'file:///etc',
    '/etc',
    's3://bucket/sales',
    'http://127.0.0.1/x',
  ];
};

test('a key, and a token for it, open the projects of their organization alone', async () => {
  const token = await harness.request('POST', '/iceberg/v1/oauth/tokens', {
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: `grant_type=client_credentials&client_id=x&client_secret=${own!.key}`,
  });
  assert.equal(token.status, 200, token.text);
  const table = `/iceberg/v1/${stranger!.project.id}/namespaces/sales/tables/events`;
  for (const key of [own!.key, token.body.access_token as string]) {
    const ask = (method: string, path: string, body?: unknown) =>
      harness.request(method, path, { key, ...(body === undefined ? {} : { body }) });
    assert.equal((await ask('GET', `${base}/sales/tables/events`)).status, 200);
    const config = await ask('GET', `/iceberg/v1/config?warehouse=${stranger!.project.id}`);
    assert.equal(config.status, 404);
    for (const path of [table, `${table}/credentials`])
      assert.equal((await ask('GET', path)).status, 404);
    const asked = { method: 'GET', uri: 'https://bucket.s3.amazonaws.com/x', region: 'eu-west-1' };
    assert.equal((await ask('POST', `${table}/sign`, asked)).status, 404);
    assert.equal((await ask('POST', table, { requirements: [], updates: [] })).status, 404);
  }
});

test('a namespace or a table lies in the folder of its project', async () => {
  const schema = { type: 'struct', fields: [] };
  for (const location of elsewhere()) {
    const named = { namespace: ['out'], properties: { location } };
    assert.equal(await refusal('POST', base, named), forbidden, location);
    const created = { name: 'out', schema, location };
    assert.equal(await refusal('POST', `${base}/sales/tables`, created), forbidden, location);
    const moved = { requirements: [], updates: [{ action: 'set-location', location }] };
    assert.equal(await refusal('POST', `${base}/sales/tables/events`, moved), forbidden, location);
  }
});

test('a commit names no files of others', async () => {
  const snapshot = (list: string) => ({
    'snapshot-id': 1,
    'sequence-number': 1,
    'timestamp-ms': 1,
    'manifest-list': list,
    summary: { operation: 'append' },
  });
  for (const place of elsewhere()) {
    const uri = `${place}/a.avro`;
    const statistics = { 'snapshot-id': 1, 'statistics-path': uri };
    for (const update of [
      { action: 'add-snapshot', snapshot: snapshot(uri) },
      { action: 'set-statistics', statistics },
      { action: 'set-partition-statistics', 'partition-statistics': statistics },
    ])
      assert.equal(
        await refusal('POST', `${base}/sales/tables/events`, {
          requirements: [],
          updates: [update],
        }),
        forbidden,
        `${update.action} ${uri}`,
      );
  }
});

test('a metadata file is registered only if all that it names is of the project', async () => {
  const register = (uri: string) =>
    refusal('POST', `${base}/sales/register`, { name: 'stolen', 'metadata-location': uri });
  for (const place of elsewhere())
    assert.equal(await register(`${place}/a.metadata.json`), forbidden, place);
  assert.equal(await register(theirs!['metadata-location']), forbidden);
  const text = await readFile(fileURLToPath(mine!['metadata-location']), 'utf8');
  const read = () => JSON.parse(text) as Record<string, unknown>;
  const { location } = theirs!.metadata;
  const foreign = {
    location: { location },
    snapshots: {
      'current-snapshot-id': 1,
      snapshots: [
        {
          'snapshot-id': 1,
          'timestamp-ms': 1,
          'manifest-list': `${location}/metadata/snap.avro`,
          summary: { operation: 'append' },
        },
      ],
    },
    log: { 'metadata-log': [{ 'metadata-file': theirs!['metadata-location'], 'timestamp-ms': 1 }] },
    statistics: { statistics: [{ 'snapshot-id': 1, 'statistics-path': `${location}/a.puffin` }] },
  };
  for (const [name, changes] of Object.entries(foreign)) {
    const uri = `${mine!.metadata.location}/metadata/${name}.metadata.json`;
    await writeFile(fileURLToPath(uri), JSON.stringify({ ...read(), ...changes }));
    assert.equal(await register(uri), forbidden, name);
  }
  // A link in one's own folder leads nowhere else.
  const link = join(fileURLToPath(mine!.metadata.location), 'linked');
  await symlink(join(fileURLToPath(location), 'metadata'), link);
  const name = theirs!['metadata-location'].split('/').at(-1)!;
  assert.equal(await register(`${mine!.metadata.location}/linked/${name}`), forbidden);
});

test('a manifest list of a client that names files of others is not followed', async () => {
  const { location } = mine!.metadata;
  const counted = { added_files_count: 1, existing_files_count: 0, deleted_files_count: 0 };
  const list = writeManifestList({ id: 7n, parent_id: null, sequence_number: 1n }, [
    {
      ...counted,
      manifest_path: `${theirs!.metadata.location}/metadata/m0.avro`,
      manifest_length: 1n,
      partition_spec_id: 0,
      content: 0,
      sequence_number: 1n,
      min_sequence_number: 1n,
      added_snapshot_id: 7n,
      added_rows_count: 1n,
      existing_rows_count: 0n,
      deleted_rows_count: 0n,
      partitions: [],
      key_metadata: null,
      first_row_id: null,
    } satisfies ListedManifest,
  ]);
  await writeFile(join(fileURLToPath(location), 'metadata/snap-7.avro'), list);
  const snapshot = {
    'snapshot-id': 7,
    'sequence-number': 1,
    'timestamp-ms': Date.now(),
    'manifest-list': `${location}/metadata/snap-7.avro`,
    summary: { operation: 'append' },
  };
  const ref = { 'ref-name': 'main', type: 'branch', 'snapshot-id': 7 };
  const updates = [
    { action: 'add-snapshot', snapshot },
    { action: 'set-snapshot-ref', ...ref },
  ];
  const body = { requirements: [], updates };
  const { status, text } = await own!.ask('POST', `${base}/sales/tables/events`, body);
  assert.equal(status, 200, text);
  const tables = `/api/projects/${own!.project.id}/lake_tables/`;
  const { results } = (await own!.ask('GET', tables)).body;
  const files = await own!.ask('GET', `${tables}${results[0].id}/files/`);
  assert.equal(files.status, 200);
  assert.equal(files.body.data_files, null);
  assert.match(files.body.fault, /outside of the place of the project/);
});
