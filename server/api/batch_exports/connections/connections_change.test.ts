import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import {
  attrsOf,
  newExport,
  projectBase,
} from '../../../../test/factories/batch_exports/batch_exports.ts';
import {
  connectionsBase,
  database_keys,
  newConnection,
} from '../../../../test/factories/batch_exports/connections.ts';
import { shareHarness } from '../../../../test/harness.ts';
import { loadConfig } from '../../../engine/model/destination/stored_config.ts';
import type { StoredConfig } from '../../../engine/model/destination/stored_config.ts';

const harness = shareHarness({ clickhouse: false });

/** The whole config by which a worker would deliver the export. */
async function effective(id: string): Promise<Record<string, unknown>> {
  const row = await harness.deps.db.row<StoredConfig>(
    sql`SELECT destination_config, destination_secrets FROM batch_exports WHERE id = ${id}::uuid`,
  );
  return loadConfig(harness.deps.secrets, id, row!);
}

test('members use connections and read no secret; administrators write them', async () => {
  const home = await harness.newOrganization();
  const connection = await newConnection(home);
  const path = `${connectionsBase(home)}${connection.id}/`;
  const member = await harness.newMember(home.organization.id, 1);
  const administrator = await harness.newMember(home.organization.id, 8);
  const reader = await harness.newMember(home.organization.id, 15, ['batch_export:read']);
  const writes: [string, string, object][] = [
    ['POST', connectionsBase(home), { name: 'x', type: 'Postgres', config: database_keys }],
    ['PATCH', path, { config: { host: 'listener.example.com', password: 'mine' } }],
    ['PUT', path, { name: 'x', config: { ...database_keys, host: 'listener.example.com' } }],
    ['DELETE', path, {}],
  ];
  for (const [method, url, body] of writes)
    for (const who of [member, reader])
      assert.equal((await who.ask(method, url, body)).status, 403, method);
  for (const who of [member, reader]) {
    const shown = await who.ask('GET', path);
    assert.deepEqual(shown.body, connection);
    assert.ok(!shown.text.includes(database_keys.password));
  }
  const asMember = await member.ask('POST', projectBase(home), {
    name: 'By a member',
    interval: 'hour',
    destination: { type: 'Postgres', config: { table_name: 'theirs' } },
    connection_id: connection.id,
  });
  assert.equal(asMember.status, 201, asMember.text);
  const url = `${projectBase(home)}${asMember.body.id}/`;
  // Out of the connection nobody takes its secret along.
  const config = { host: 'listener.example.com', database: 'd', user: 'u' };
  for (const path_of_change of [url, `${url}test/?validate_only=true`]) {
    const method = path_of_change === url ? 'PATCH' : 'POST';
    const body = { connection_id: null, destination: { config } };
    assert.deepEqual(attrsOf(await member.ask(method, path_of_change, body)), [
      'destination__config__password required',
    ]);
  }
  const { config: kept } = connection;
  const detached = await member.ask('PATCH', url, {
    connection_id: null,
    destination: { config: kept },
  });
  assert.deepEqual(attrsOf(detached), ['destination__config__password required']);
  assert.equal((await administrator.ask('PATCH', path, { name: 'Ours' })).status, 200);
});

test('a rotation reaches every export; a change of place starts revisions', async () => {
  const home = await harness.newOrganization();
  const connection = await newConnection(home);
  const path = `${connectionsBase(home)}${connection.id}/`;
  const destination = { type: 'Postgres', config: { table_name: 'own' } };
  const using = { destination, connection_id: connection.id };
  const first = await newExport(home, { name: 'First', ...using });
  const second = await newExport(home, { name: 'Second', ...using });
  const apart = await newExport(home, {
    destination: { type: 'Postgres', config: { ...database_keys, table_name: 'own' } },
  });
  const revisions = async () =>
    (
      await harness.deps.db.rows<{ revision: number }>(sql`SELECT revision FROM batch_exports
        WHERE id = ANY (${[first.id, second.id, apart.id]}::uuid[]) ORDER BY id`)
    ).map(({ revision }) => revision);
  const rotated = await home.ask('PATCH', path, { config: { password: 'pl4nted-other' } });
  assert.equal(rotated.status, 200, rotated.text);
  assert.equal(rotated.body.batch_export_count, 2);
  assert.deepEqual(
    rotated.body.batch_exports.map(({ name }: { name: string }) => name),
    ['First', 'Second'],
  );
  for (const { id } of [first, second])
    assert.deepEqual(
      [(await effective(id))['password'], (await effective(id))['table_name']],
      ['pl4nted-other', 'own'],
    );
  assert.equal((await effective(apart.id))['password'], database_keys.password);
  assert.deepEqual(await revisions(), [1, 1, 1]);
  const log = await home.ask('GET', `${projectBase(home)}${first.id}/logs/`);
  assert.match(log.text, /connection \\"Warehouse\\" was changed/);
  const moved = { host: 'other.example.com', password: 'pl4nted-third' };
  assert.equal((await home.ask('PATCH', path, { config: moved })).status, 200);
  assert.deepEqual(await revisions(), [2, 2, 1]);
  assert.equal((await effective(first.id))['host'], 'other.example.com');
  const same = await home.ask('PATCH', path, { config: moved });
  assert.equal(same.status, 200);
  assert.deepEqual(await revisions(), [2, 2, 1]);
  const { body: entries } = await home.ask(
    'GET',
    `/api/organizations/${home.organization.id}/activity/?scope=connection`,
  );
  const told = entries.results.map((one: { activity: string; detail: { changes: object[] } }) => [
    one.activity,
    JSON.stringify(one).includes('pl4nted'),
  ]);
  assert.deepEqual(told, [
    ['updated', false],
    ['updated', false],
    ['created', false],
  ]);
});

test('an export moves to a connection, to another one and back', async () => {
  const home = await harness.newOrganization();
  const [one, other] = [
    await newConnection(home),
    await newConnection(home, { config: { ...database_keys, database: 'other' } }),
  ];
  const created = await newExport(home, {
    destination: { type: 'Postgres', config: { ...database_keys, table_name: 'own' } },
  });
  const url = `${projectBase(home)}${created.id}/`;
  const effect = async (body: object) =>
    (await home.ask('POST', `${url}effect/`, body)).body.starts_anew;
  assert.equal(await effect({ connection_id: one.id }), false);
  const joined = await home.ask('PATCH', url, { connection_id: one.id });
  assert.deepEqual([joined.status, joined.body.connection_id], [200, one.id], joined.text);
  assert.ok(!('host' in joined.body.destination.config));
  assert.equal(await effect({ connection_id: other.id }), true);
  const put = { ...joined.body, connection_id: other.id };
  assert.equal((await home.ask('PUT', url, put)).body.connection_id, other.id);
  assert.equal((await effective(created.id))['database'], 'other');
  // A client that knows no connections sends back what it read, and changes nothing.
  const { connection_id: _unknown, ...older } = (await home.ask('GET', url)).body;
  assert.equal((await home.ask('PUT', url, older)).body.connection_id, other.id);
  const type = await home.ask('PATCH', url, { destination: { type: 'NoOp', config: {} } });
  assert.deepEqual(attrsOf(type), ['connection_id invalid_input']);
  const left = await home.ask('PATCH', url, {
    connection_id: null,
    destination: { config: database_keys },
  });
  assert.deepEqual([left.status, left.body.connection_id], [200, null], left.text);
  assert.equal(left.body.destination.config.host, database_keys.host);
});

test('a change that an export cannot work with names it and changes nothing', async () => {
  const home = await harness.newOrganization();
  const config = {
    host: 'c.example.com',
    database: 'd',
    user: 'u',
    password: 'pl4nted-word',
    aws_access_key_id: 'AKIAPLANTED',
    aws_secret_access_key: 'pl4nted-word',
  };
  const connection = await newConnection(home, { type: 'Redshift', config });
  const created = await newExport(home, {
    name: 'Copying',
    destination: {
      type: 'Redshift',
      config: { mode: 'COPY', bucket_name: 'my-bucket', region: 'eu-central-1' },
    },
    connection_id: connection.id,
  });
  const before = await effective(created.id);
  const refused = await home.ask('PATCH', `${connectionsBase(home)}${connection.id}/`, {
    config: { aws_access_key_id: null, aws_secret_access_key: null },
  });
  assert.equal(refused.status, 400);
  assert.match(refused.body.detail, /"Copying"/);
  assert.deepEqual(attrsOf(refused), [
    'config__aws_access_key_id required',
    'config__aws_secret_access_key required',
  ]);
  assert.deepEqual(await effective(created.id), before);
});

test('an export that takes a connection while it changes has what it says then', async () => {
  const home = await harness.newOrganization();
  const connection = await newConnection(home);
  const path = `${connectionsBase(home)}${connection.id}/`;
  const exports = await Promise.all(
    Array.from({ length: 4 }, (_, at) =>
      newExport(home, {
        destination: { type: 'Postgres', config: { ...database_keys, table_name: `t${at}` } },
      }),
    ),
  );
  const answers = await Promise.all([
    ...exports.map(({ id }) =>
      home.ask('PATCH', `${projectBase(home)}${id}/`, { connection_id: connection.id }),
    ),
    ...['pl4nted-one', 'pl4nted-two'].map((password) =>
      home.ask('PATCH', path, { config: { password } }),
    ),
  ]);
  for (const { status, text } of answers) assert.equal(status, 200, text);
  const passwords = await Promise.all(
    exports.map(async ({ id }) => (await effective(id))['password']),
  );
  assert.equal(new Set(passwords).size, 1);
  assert.match(String(passwords[0]), /^pl4nted-(one|two)$/);
});
