import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import {
  attrsOf,
  newExport,
  organizationBase,
  projectBase,
} from '../../../../test/factories/batch_exports/batch_exports.ts';
import {
  connectionsBase,
  database_keys,
  newConnection,
} from '../../../../test/factories/batch_exports/connections.ts';
import { inTurn } from '../../../../test/depth.ts';
import { places_cases } from '../../../../test/factories/batch_exports/destination_places.ts';
import { shareHarness } from '../../../../test/harness.ts';
import { connectionPart, exportPart } from '../../../engine/model/destination/connection.ts';
import { loadConfig } from '../../../engine/model/destination/stored_config.ts';
import type { StoredConfig } from '../../../engine/model/destination/stored_config.ts';
import { destinations, findDestination } from '../../../engine/destinations/index.ts';

const harness = shareHarness({ clickhouse: false });

/** Keys that say where the data go and never where a secret goes: each export has its own. */
const of_the_data: Record<string, string[]> = {
  S3: ['bucket_name', 'region'],
  GCS: ['bucket_name'],
  Iceberg: ['storage', 'bucket_name', 'region'],
  Delta: ['storage', 'bucket_name', 'region'],
  Redshift: ['mode', 'bucket_name', 'region'],
};

/** The whole config by which a worker would deliver the export. */
async function effective(id: string): Promise<Record<string, unknown>> {
  const row = await harness.deps.db.row<StoredConfig>(
    sql`SELECT destination_config, destination_secrets FROM batch_exports WHERE id = ${id}::uuid`,
  );
  return loadConfig(harness.deps.secrets, id, row!);
}

test('every secret of a type, and each key that leads one somewhere, is of its connection', () => {
  for (const { type, secrets, where, connection = [] } of destinations) {
    const apart = of_the_data[type] ?? [];
    const missing = [...secrets, ...where].filter((key) => !connection.includes(key));
    assert.deepEqual(missing.toSorted(), apart.toSorted(), type);
    assert.equal(connection.length > 0, secrets.length > 0, type);
  }
});

for (const { type, config, moves } of inTurn(places_cases, 4))
  test(`${type} (${Object.keys(config).join(', ')}): a connection joins an export`, async () => {
    const home = await harness.newOrganization();
    const definition = findDestination(type)!;
    const shared = connectionPart(definition, config);
    const own = exportPart(definition, config);
    if (Object.keys(shared).length === 0) return;
    const connection = await newConnection(home, { type, config: shared });
    const hidden = definition.secrets.filter((key) => Object.hasOwn(config, key));
    assert.deepEqual(connection.secret_keys, hidden);
    for (const key of hidden) assert.ok(!(key in connection.config), key);
    const whole = await newExport(home, { destination: { type, config } });
    const destination = { type, config: own };
    const created = await newExport(home, { destination, connection_id: connection.id });
    assert.deepEqual(await effective(created.id), await effective(whole.id));
    assert.equal(created.connection_id, connection.id);
    assert.deepEqual(created.destination.config, exportPart(definition, whole.destination.config));
    assert.deepEqual((await home.ask('GET', `${projectBase(home)}${created.id}/`)).body, created);
    const keys = await home.ask('GET', `${projectBase(home)}${created.id}/secret_keys/`);
    assert.deepEqual(keys.body, { secret_keys: [] });
    const repeated = await home.ask('PATCH', `${projectBase(home)}${created.id}/`, {
      destination: { config: shared },
    });
    assert.deepEqual(
      attrsOf(repeated),
      Object.keys(shared)
        .map((key) => `destination__config__${key} invalid_input`)
        .toSorted(),
    );
    const ofConnection = moves.filter((change) =>
      Object.keys(change).every((key) => definition.connection?.includes(key)),
    );
    for (const change of ofConnection) {
      const moved = await home.ask('PATCH', `${connectionsBase(home)}${connection.id}/`, {
        config: change,
      });
      const asked = hidden.filter((key) => !Object.hasOwn(change, key));
      assert.deepEqual(
        attrsOf(moved),
        asked.map((key) => `config__${key} required`).toSorted(),
        JSON.stringify(change),
      );
    }
    assert.deepEqual(await effective(created.id), await effective(whole.id));
  });

test('wrong keys of a connection are named, and those of an export sent there', async () => {
  const home = await harness.newOrganization();
  const post = (body: object) => home.ask('POST', connectionsBase(home), body);
  const given = { name: 'x', type: 'Postgres' };
  assert.deepEqual(attrsOf(await post({ ...given, config: {} })), [
    'config__database required',
    'config__host required',
    'config__password required',
    'config__user required',
  ]);
  const config = { ...database_keys, host: 'db:5432', table_name: 'x', nonsense: 1, port: 'x' };
  const wrong = await post({ ...given, config });
  assert.deepEqual(attrsOf(wrong), [
    'config__host invalid_input',
    'config__nonsense invalid_input',
    'config__port invalid_input',
    'config__table_name invalid_input',
  ]);
  assert.match(wrong.text, /belongs to each export/);
  for (const type of ['NoOp', 'File', 'S4'])
    assert.deepEqual(attrsOf(await post({ name: 'x', type, config: {} })), ['type invalid_choice']);
  const { id } = await newConnection(home);
  const other = await home.ask('PATCH', `${connectionsBase(home)}${id}/`, { type: 'MySQL' });
  assert.deepEqual(attrsOf(other), ['type invalid_input']);
});

test('an export takes a connection of its organization and type alone', async () => {
  const [home, stranger] = [await harness.newOrganization(), await harness.newOrganization()];
  const foreign = await newConnection(stranger);
  const own = await newConnection(home);
  const post = (connection_id: unknown, type = 'Postgres') =>
    home.ask('POST', projectBase(home), {
      name: 'x',
      interval: 'hour',
      destination: { type, config: {} },
      connection_id,
    });
  for (const id of [foreign.id, '01939393-0000-7000-8000-000000000001', 'nonsense', 7]) {
    const { errors } = (await post(id)).body;
    assert.ok(
      errors.some(({ attr }: { attr: string }) => attr === 'connection_id'),
      String(id),
    );
  }
  assert.deepEqual(attrsOf(await post(own.id, 'MySQL')), ['connection_id invalid_input']);
  assert.equal((await post(own.id)).status, 201);
  const path = `${connectionsBase(home)}${foreign.id}/`;
  for (const method of ['GET', 'PATCH', 'DELETE'])
    assert.equal((await home.ask(method, path, {})).status, 404, method);
});

test('a connection goes when no export uses it: until then 409 names them', async () => {
  const home = await harness.newOrganization();
  const connection = await newConnection(home);
  const path = `${connectionsBase(home)}${connection.id}/`;
  const created = await newExport(home, {
    name: 'Nightly',
    destination: { type: 'Postgres', config: {} },
    connection_id: connection.id,
  });
  const refused = await home.ask('DELETE', path);
  assert.equal(refused.status, 409);
  assert.match(refused.body.detail, /"Nightly"/);
  assert.equal((await home.ask('DELETE', `${organizationBase(home)}${created.id}/`)).status, 204);
  assert.equal((await home.ask('GET', path)).body.batch_export_count, 0);
  assert.equal((await home.ask('DELETE', path)).status, 204);
  assert.equal((await home.ask('GET', path)).status, 404);
});
