import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { newExport } from '../../../test/factories/batch_exports/batch_exports.ts';
import { openQueryHarness } from '../../../test/factories/batch_exports/query_exports.ts';
import { storeConfig } from '../../engine/model/destination/stored_config.ts';
import { verifyExports } from '../../engine/exports/verification/verify_exports.ts';
import { openLog } from '../../platform/log.ts';
import { verify } from './verify.ts';
import { aroundTests } from '../../../test/around_tests.ts';

const exporting = aroundTests(openQueryHarness);

test('an id of no export is refused in a sentence', async () => {
  const { config, log } = exporting.harness.deps;
  const context = { config, log, say: () => undefined };
  for (const text of ['mine', '-'.repeat(36), `${crypto.randomUUID()} `])
    await assert.rejects(verify(context, { export: text }), {
      name: 'WrongUsageError',
      message: `"${text}" is not the id of an export.`,
    });
});

test('a fault of one export does not stop the comparison of others', async () => {
  const { harness } = exporting;
  const home = await harness.newOrganization();
  await exporting.insert(home, [{ event: 'a', at: '2026-01-01T00:10:00Z' }]);
  const ids: string[] = [];
  for (const prefix of ['gone', 'unknown', 'sealed', 'store', 'whole']) {
    const { id } = await exporting.scheduled(
      home,
      { name: prefix, destination: { type: 'File', config: { prefix } } },
      1,
    );
    await exporting.runAll(id);
    ids.push(id);
  }
  const [gone, unknown, sealed, store] = ids as [string, string, string, string];
  // Nobody listens there; this server has no such type; these secrets were sealed for another row.
  const { destination_config, destination_secrets } = storeConfig(
    harness.deps.secrets,
    gone,
    { host: '127.0.0.1', port: 1, user: 'u', password: 'p', database: 'd' },
    ['password'],
  );
  await harness.deps.db.run(
    sql`UPDATE batch_exports SET destination_type = 'Postgres',
      destination_config = ${JSON.stringify(destination_config)},
      destination_secrets = ${destination_secrets} WHERE id = ANY (${[gone, sealed]}::uuid[])`,
  );
  await harness.deps.db.run(
    sql`UPDATE batch_exports SET destination_type = 'Punchcards' WHERE id = ${unknown}`,
  );
  const objects = {
    bucket_name: 'loads',
    region: 'us-east-1',
    prefix: 'x',
    endpoint_url: 'http://127.0.0.1:1',
    aws_access_key_id: 'a',
    aws_secret_access_key: 's',
  };
  const secret_keys = ['aws_access_key_id', 'aws_secret_access_key'];
  const place = storeConfig(harness.deps.secrets, store, objects, secret_keys);
  await harness.deps.db.run(
    sql`UPDATE batch_exports SET destination_type = 'S3',
      destination_config = ${JSON.stringify(place.destination_config)},
      destination_secrets = ${place.destination_secrets} WHERE id = ${store}`,
  );
  await newExport(home, {
    name: 'new',
    paused: true,
    destination: {
      type: 'Postgres',
      config: { user: 'u', password: 'p', host: 'db.example.com', database: 'd' },
    },
  });
  const lines: string[] = [];
  const log = openLog('debug', 'json', { write: (line) => void lines.push(line) });
  const found = await verifyExports({ ...harness.deps.engine, log }, undefined);
  const logged = lines.map((line) => JSON.parse(line)).filter(({ err }) => err !== undefined);
  assert.deepEqual(
    logged.map(({ level, batch_export_id }) => [level, batch_export_id]),
    [gone, unknown, sealed, store].map((id) => [20, id]),
    'the sentence says a known fault, and its stack is for who asks',
  );
  assert.deepEqual(
    found.map(({ name, records, differences, fault }) => [
      name,
      records,
      differences,
      fault?.replace(/.*receipts: (.*) Fix .*/, '$1') ?? null,
    ]),
    [
      [
        'gone',
        1,
        [],
        'The server does not answer at this host and port. Check both, and that its firewall ' +
          'lets this server in. (connection_failed)',
      ],
      [
        'unknown',
        0,
        [],
        'This server has no destination of type Punchcards: run a version that has it. ' +
          '(unknown_destination)',
      ],
      [
        'sealed',
        1,
        [],
        "The destination's secrets cannot be decrypted with this server's key. Enter them " +
          'again, or start the server with the key that encrypted them. (secrets_unreadable)',
      ],
      [
        'store',
        1,
        [],
        'The store does not answer at its address. Check the address (endpoint_url), and that ' +
          'firewalls let this server reach it. (connection_failed)',
      ],
      ['whole', 1, [], null],
      ['new', 0, [], null],
    ],
  );
});

test('a stored receipt that was changed since is named', async () => {
  const { harness } = exporting;
  const home = await harness.newOrganization();
  await exporting.insert(home, [{ event: 'a', at: '2026-01-01T00:10:00Z' }]);
  const destination = { type: 'File', config: { prefix: 'changed' } };
  const { id } = await exporting.scheduled(home, { destination }, 1);
  await exporting.runAll(id);
  const differences = async () =>
    (await verifyExports(harness.deps.engine, id)).flatMap((one) =>
      one.differences.map(({ kind, name }) => `${kind} ${name}`),
    );
  assert.deepEqual(await differences(), []);
  const changed = await harness.deps.db.row<{ id: string }>(sql`
    UPDATE batch_export_runs SET receipt = replace(receipt, '"records":1', '"records":2')
    WHERE batch_export_id = ${id} AND receipt LIKE '%"records":1%' RETURNING id`);
  assert.deepEqual(await differences(), [`changed receipt of run ${changed!.id}`]);
});
