import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { pino } from 'pino';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../test/around_tests.ts';
import {
  attrsOf,
  insertRunRow,
  newExport,
  organizationBase,
  projectBase,
} from '../../../test/factories/batch_exports/batch_exports.ts';
import { openHarness } from '../../../test/harness.ts';
import { loadConfig } from '../../engine/model/destination/stored_config.ts';
import type { StoredConfig } from '../../engine/model/destination/stored_config.ts';

const password = 'pl4nted-s3cret-word';
const config = { user: 'writer', password, host: 'db.example.com', database: 'warehouse' };
const destination = { type: 'Postgres', config };

let logged = '';
const log = pino(
  { level: 'trace' },
  new Writable({ write: (chunk, _encoding, done) => done(void (logged += String(chunk))) }),
);
const harness = aroundTests(() => openHarness({ clickhouse: false, deps: { log } }));

const fullConfig = async (id: string) =>
  loadConfig(
    harness.deps.secrets,
    id,
    (await harness.deps.db.row<StoredConfig>(
      sql`SELECT destination_config, destination_secrets FROM batch_exports WHERE id = ${id}`,
    ))!,
  );

test('a secret is in no answer, no log line and nowhere in the database', async () => {
  const home = await harness.newOrganization();
  const texts: string[] = [];
  const send = async (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ) => {
    const answer = await home.ask(method, path, body, headers);
    texts.push(answer.text);
    return answer;
  };
  const created = (
    await send(
      'POST',
      projectBase(home),
      { name: 'P', interval: 'hour', destination },
      { 'idempotency-key': 'one' },
    )
  ).body;
  assert.deepEqual(created.destination, {
    type: 'Postgres',
    config: {
      user: 'writer',
      host: 'db.example.com',
      database: 'warehouse',
      port: 5432,
      schema: 'public',
      table_name: 'events',
      has_self_signed_cert: false,
      require_tls: true,
    },
  });
  const run = await insertRunRow(harness, created.id, { status: 'Failed' });
  for (const base of [projectBase(home), organizationBase(home)]) {
    const url = `${base}${created.id}/`;
    await send('POST', base, {
      name: 7,
      interval: 'hour',
      destination: { type: 'Postgres', config: { ...config, port: 'x', colour: password } },
    }).then((answer) => assert.equal(answer.status, 400));
    await send('POST', `${base}?validate_only=true`, { name: 'P', interval: 'hour', destination });
    for (const path of ['', 'logs/', 'runs/', `runs/${run}/`, `runs/${run}/logs/`, 'backfills/'])
      await send('GET', `${url}${path}`);
    for (const path of ['pause/', 'unpause/', `runs/${run}/retry/`])
      await send('POST', `${url}${path}`);
    await send('PATCH', url, { destination: { config: { password, host: 'x y' } } }).then(
      (answer) => assert.deepEqual(attrsOf(answer), ['destination__config__host invalid_input']),
    );
    await send('PATCH', url, { destination: { config: { password } } });
    await send('PATCH', url, { destination: { type: 'NoOp', config: { password } } }).then(
      (answer) =>
        assert.deepEqual(attrsOf(answer), ['destination__config__password unknown_field']),
    );
    await send('GET', base);
  }
  assert.ok(!texts.some((text) => text.includes(password)));
  assert.ok(logged.length > 0 && !logged.includes(password));
  const tables = await harness.deps.db.rows<{ name: string }>(
    sql`SELECT quote_ident(table_name) AS name FROM information_schema.tables
      WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`,
  );
  const hex = Buffer.from(password).toString('hex');
  for (const { name } of tables) {
    const { rows } = await harness.deps.db.text(
      `SELECT t::text FROM ${name} t WHERE t::text LIKE '%${password}%' OR t::text LIKE '%${hex}%'`,
    );
    assert.deepEqual(rows, [], name);
  }
  assert.equal((await fullConfig(created.id))['password'], password);
});

test('a trial sends stored secrets to no other place, and asks for them instead', async () => {
  const home = await harness.newOrganization();
  const created = await newExport(home, { destination });
  const tried = async (action: string, sent: object) => {
    const body = { destination: { config: sent } };
    return home.ask(
      'POST',
      `${projectBase(home)}${created.id}/${action}/?validate_only=true`,
      body,
    );
  };
  for (const action of ['test', 'preview']) {
    for (const other of [
      { host: 'listener.example' },
      { port: 5433 },
      { require_tls: false },
      { has_self_signed_cert: true },
    ]) {
      const refused = await tried(action, other);
      assert.deepEqual(
        [refused.status, attrsOf(refused)],
        [400, ['destination__config__password required']],
        refused.text,
      );
    }
  }
  // Neither what is written nor what was said before leads anywhere, and who knows the secret may
  // take it where they like.
  for (const harmless of [
    { table_name: 'other' },
    { host: config.host, port: 5432 },
    { host: 'listener.example', password: 'mine' },
  ])
    assert.equal((await tried('test', harmless)).status, 200);
});

test('an absent secret is kept, null removes it, PUT keeps it, other types forget it', async () => {
  const home = await harness.newOrganization();
  const created = await newExport(home, { destination });
  const url = `${projectBase(home)}${created.id}/`;
  const patch = (sent: unknown) => home.ask('PATCH', url, { destination: sent });
  assert.equal((await patch({ config: { table_name: 'other' } })).status, 200);
  assert.equal((await fullConfig(created.id))['password'], password);
  assert.deepEqual(attrsOf(await patch({ config: { password: null } })), [
    'destination__config__password required',
  ]);
  assert.deepEqual(attrsOf(await patch({ config: { password: '' } })), [
    'destination__config__password blank',
  ]);
  assert.equal((await patch({ config: { password: 'another' } })).status, 200);
  assert.equal((await fullConfig(created.id))['password'], 'another');
  const { body } = await home.ask('GET', url);
  const put = await home.ask('PUT', url, body);
  assert.equal(put.status, 200, put.text);
  assert.equal((await fullConfig(created.id))['password'], 'another');
  assert.equal((await patch({ type: 'NoOp', config: {} })).status, 200);
  assert.deepEqual(await fullConfig(created.id), { arg: '' });
  assert.deepEqual(
    attrsOf(await patch({ type: 'Postgres', config: { user: 'u', host: 'h', database: 'd' } })),
    ['destination__config__password required'],
  );
});

test('a record lists the keys of its stored secrets, without empty ones', async () => {
  const home = await harness.newOrganization();
  const url = 'https://one.example.com';
  const given = { url, token: 'pl4nted-t0ken', headers: {}, signing_secret: '' };
  const { id } = await newExport(home, { destination: { type: 'HTTP', config: given } });
  const path = `${projectBase(home)}${id}/`;
  const told = async (base = projectBase(home)) =>
    (await home.ask('GET', `${base}${id}/secret_keys/`)).body;
  assert.deepEqual(await told(), { secret_keys: ['token'] });
  assert.deepEqual(await told(organizationBase(home)), { secret_keys: ['token'] });
  const change = (secrets: object) =>
    home.ask('PATCH', path, { destination: { type: 'HTTP', config: secrets } });
  await change({ headers: { 'x-own': 'pl4nted-header' } });
  assert.deepEqual(await told(), { secret_keys: ['token', 'headers'] });
  await change({ token: null, headers: null });
  assert.deepEqual(await told(), { secret_keys: [] });
  const stranger = await harness.newOrganization();
  const refused = await stranger.ask('GET', `${projectBase(stranger)}${id}/secret_keys/`);
  assert.equal(refused.status, 404);
});
