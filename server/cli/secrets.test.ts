// Length: one list of all columns that a change of the key touches, and of those that it does not.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import sql, { raw } from 'sql-template-tag';
import { insertRunRow, newExport } from '../../test/factories/batch_exports/batch_exports.ts';
import type { TestOrganization } from '../../test/harness.ts';
import { openQueryHarness } from '../../test/factories/batch_exports/query_exports.ts';
import { loadConfig } from '../engine/model/destination/stored_config.ts';
import { newConnection } from '../../test/factories/batch_exports/connections.ts';
import { newServiceKey } from '../../test/factories/people/service_keys.ts';
import { readReceipt } from '../engine/exports/runs/receipt.ts';
import { verifyActivity } from '../platform/activity/verify.ts';
import { mailContext } from '../platform/mail/attempt_mail.ts';
import type { Database } from '../platform/postgres/database.ts';
import type { SecretKeys } from '../platform/secrets/secrets.ts';
import { WrongSecretKeyError, openServerSecrets } from '../platform/secrets/server_keys.ts';
import { sealed_fields } from './sealed_fields.ts';
import { rewrapAll } from './secrets.ts';
import { aroundTests } from '../../test/around_tests.ts';

const [first, second] = [
  'a secret that only tests have, 32 or more',
  'the secret that comes after that of the tests',
];
const password = 'hunter2 of the table of exports';

let home: TestOrganization;
let db: Database;
const exporting = aroundTests(openQueryHarness, async (opened) => {
  db = opened.harness.deps.db;
  await startWith([first]);
  home = await opened.harness.newOrganization();
  await opened.insert(home, [{ event: 'a', at: '2026-01-01T00:10:00Z' }]);
});

/** Makes the running server one that was started with these secret keys. */
async function startWith(keys: SecretKeys): Promise<void> {
  Object.assign(exporting.harness.deps.secrets, await openServerSecrets(db, () => keys));
}

/**
 * Something in every sealed column, and what depends on the keys beside them; gives the check that
 * all of it holds.
 */
async function somethingOfEverything(): Promise<(phase: string) => Promise<void>> {
  const { harness } = exporting;
  const { secrets } = harness.deps;
  const session = await harness.newSession(home.user);
  const files = await scheduled('before');
  const [delivered] = await exporting.runAll(files.id);
  const postgres = await newExport(home, {
    destination: {
      type: 'Postgres',
      config: { user: 'u', password, host: 'h.example', database: 'd' },
    },
  });
  const run = await insertRunRow(harness, postgres.id, { status: 'Completed' });
  await db.run(
    sql`UPDATE batch_export_runs SET destination_secrets = (SELECT destination_secrets
      FROM batch_exports WHERE id = ${postgres.id}) WHERE id = ${run}`,
  );
  await db.run(sql`
    INSERT INTO batch_export_leftovers (run_id, batch_export_id, team_id, delivery_id, revision,
      attempt, data_interval_start, data_interval_end, selection, model, destination_type,
      destination_secrets)
    SELECT gen_random_uuid(), id, team_id, gen_random_uuid(), revision, 1, now(), now(), '[]',
      model, destination_type, destination_secrets FROM batch_exports WHERE id = ${postgres.id}`);
  const target = { type: 'webhook', url: 'https://hooks.example.com/x' };
  const targeted = await harness.request(
    'POST',
    `/api/organizations/${home.organization.id}/notice_targets/`,
    { key: home.key, body: target },
  );
  assert.equal(targeted.status, 201, targeted.text);
  const planned = await harness.request(
    'POST',
    `/api/organizations/${home.organization.id}/configuration/plan/`,
    { key: home.key, body: { configuration: { projects: {} } } },
  );
  assert.equal(planned.status, 201, planned.text);
  const erasure = await harness.request('POST', `/api/projects/${home.project.id}/erasures/`, {
    key: home.key,
    body: { distinct_ids: ['nobody'] },
  });
  assert.ok(erasure.status < 300, erasure.text);
  const rules = `/api/projects/${home.project.id}/ingestion_rules/`;
  const hashing = { name: 'Mails', action: 'hash_property', property: 'email' };
  const rule = await harness.request('POST', rules, { key: home.key, body: hashing });
  assert.equal(rule.status, 201, rule.text);
  const event = '{"event":"a","distinct_id":"ada","properties":{"email":"ada@example.com"}}';
  const hashedMail = async () => {
    const tried = await harness.request('POST', `${rules}try/`, { key: home.key, body: { event } });
    return JSON.parse(tried.body.event).properties.email as string;
  };
  const mail = await hashedMail();
  assert.match(mail, /^[0-9a-f]{64}$/);
  const created = await newExportOnce();
  await newExportOnce(await newServiceKey(harness, home));
  await sealIn('users', 'totp_secret', home.user.id, 'JBSWY3DPEHPK3PXP');
  const plugin = (await db.row<{ id: number }>(
    sql`INSERT INTO plugins (organization_id, collection, plugin_type)
      VALUES (${home.organization.id}, 'pipeline_destinations', 'custom') RETURNING id`,
  ))!;
  await sealIn('plugins', 'origin', plugin.id, '{}');
  const config = (await db.row<{ id: number }>(
    sql`INSERT INTO plugin_configs (plugin_id, team_id) VALUES (${plugin.id}, ${home.project.id})
      RETURNING id`,
  ))!;
  await sealIn('plugin_configs', 'config_secrets', config.id, '{}');
  await sealedForTools(erasure.body.id, config.id);
  await newConnection(home);
  const mail_id = randomUUID();
  await db.run(sql`
    INSERT INTO mails (id, message_sealed, next_attempt_at, expires_at)
    VALUES (${mail_id}, ${secrets.seal('{}', mailContext(mail_id))}, now(), now())`);
  return async (phase) => {
    assert.equal(
      (await harness.request('GET', '/api/users/@me/', { key: home.key })).status,
      200,
      `${phase}: key`,
    );
    assert.equal(
      (await harness.request('GET', '/api/users/@me/', { headers: { cookie: session } })).status,
      200,
      `${phase}: session`,
    );
    assert.equal((await newExportOnce()).id, created.id, `${phase}: replay`);
    const { receipt } = (await db.row<{ receipt: string }>(
      sql`SELECT receipt FROM batch_export_runs WHERE id = ${delivered!.id}`,
    ))!;
    assert.equal(readReceipt(receipt, secrets.public_key)?.records, 1, `${phase}: receipt`);
    assert.deepEqual((await verifyActivity(db, secrets)).faults, [], `${phase}: log`);
    assert.equal(await hashedMail(), mail, `${phase}: hash of a rule`);
    for (const { table, id, field, owner, context } of sealed_fields) {
      const rows = await db.rows<{ owner: string; envelope: Buffer }>(
        sql`SELECT ${raw(owner ?? id)}::text AS owner, ${raw(field)} AS envelope FROM ${raw(table)}
          WHERE ${raw(field)} IS NOT NULL`,
      );
      assert.ok(rows.length > 0, `nothing is in ${table}.${field}`);
      for (const row of rows)
        assert.notEqual(
          secrets.open(row.envelope, context(row.owner)),
          '',
          `${phase}: ${table}.${field}`,
        );
    }
    const stored = await db.row<Parameters<typeof loadConfig>[2]>(
      sql`SELECT destination_config, destination_secrets FROM batch_exports
        WHERE id = ${postgres.id}`,
    );
    assert.equal(
      loadConfig(secrets, postgres.id, stored!)['password'],
      password,
      `${phase}: password`,
    );
    await exporting.insert(home, [{ event: phase, at: '2026-01-01T00:10:00Z' }]);
    const runs = await exporting.runAll((await scheduled(phase)).id);
    assert.deepEqual(
      [...new Set(runs.map(({ status }) => status))],
      ['Completed'],
      `${phase}: export`,
    );
  };
}

/** An export of the first hour to files. */
const scheduled = (prefix: string) =>
  exporting.scheduled(home, { destination: { type: 'File', config: { prefix } } }, 1);

/** The same export each time, from an answer that is kept. */
async function newExportOnce(key = home.key) {
  const body = { name: 'once', interval: 'hour', destination: { type: 'NoOp', config: {} } };
  const created = await exporting.harness.request(
    'POST',
    `/api/projects/${home.project.id}/batch_exports/`,
    {
      key,
      headers: { 'idempotency-key': 'once' },
      body,
    },
  );
  assert.equal(created.status, 201, created.text);
  return created.body;
}

/** An OAuth application, the tokens of a config, and ids that an erasure has to tell a tool. */
async function sealedForTools(erasure_id: string, config_id: number): Promise<void> {
  const { secrets } = exporting.harness.deps;
  const seal = (table: string, id: string) => {
    const { context } = sealed_fields.find((one) => one.table === table)!;
    return secrets.seal('{}', context(id));
  };
  const [application, told] = [randomUUID(), randomUUID()];
  await db.run(sql`
    INSERT INTO oauth_applications (id, organization_id, tool, client_id, client_secret_sealed,
      authorize_url, token_url, scopes, client_auth, uses_pkce)
    VALUES (${application}, ${home.organization.id}, 'hubspot', 'one',
      ${seal('oauth_applications', application)}, 'https://a.example', 'https://b.example', '',
      'post', true)`);
  await db.run(sql`
    INSERT INTO plugin_oauth_connections (plugin_config_id, application_id, application_version,
      tokens_sealed)
    VALUES (${config_id}, ${application}, 1,
      ${seal('plugin_oauth_connections', String(config_id))})`);
  await db.run(sql`
    INSERT INTO erasure_tools (id, erasure_id, plugin_config_id, name, state, ids_sealed, ids)
    VALUES (${told}, ${erasure_id}, ${config_id}, 'One', 'waiting', ${seal('erasure_tools', told)},
      1)`);
}

async function sealIn(table: string, field: string, id: number, plain: string): Promise<void> {
  const { context } = sealed_fields.find((one) => one.table === table && one.field === field)!;
  const envelope = exporting.harness.deps.secrets.seal(plain, context(String(id)));
  await db.run(sql`UPDATE ${raw(table)} SET ${raw(field)} = ${envelope} WHERE id = ${id}`);
}

/** A connection that breaks at the given change: what was changed before stays, as after a kill. */
function breaksAt(change: number): Database {
  let changes = 0;
  return {
    ...db,
    run: (statement) => {
      changes += 1;
      return changes < change ? db.run(statement) : Promise.reject(new Error('killed'));
    },
  };
}

test('every stage of a key exchange works, also after a kill at any of its changes', async () => {
  const check = await somethingOfEverything();
  await check('before');
  await startWith([first, second]);
  await check('the new one is accepted');
  await startWith([second, first]);
  await check('the new one is in use');
  let kills = 0;
  for (let isOver = false; !isOver; kills += 1) {
    isOver = await rewrapAll(breaksAt(2), exporting.harness.deps.secrets).then(
      () => true,
      () => false,
    );
    assert.ok(kills <= sealed_fields.length, 'an exchange that is called again must get on');
  }
  assert.ok(kills > 4, 'it was hardly ever killed');
  await check('between');
  const found = await rewrapAll(db, exporting.harness.deps.secrets);
  assert.deepEqual(found.flatMap(({ unreadable }) => unreadable), []); // prettier-ignore
  await startWith([second]);
  await check('after');
  await assert.rejects(
    openServerSecrets(db, () => [first]),
    WrongSecretKeyError,
  );
});

test('every column of bytes is sealed, or one that no change of the key touches', async () => {
  const untouched = [
    'activity.hash',
    'activity.previous_hash',
    'activity_checks.hash',
    'activity_checks.seal',
    'activity_heads.hash',
    'activity_heads.seal',
    'agent_grants.client_hash',
    'agent_grants.code_hash',
    'agent_grants.refresh_hash',
    'erased_ids.id_hash',
    'idempotency_keys.body_hash',
    'lake_answers.request_hash',
    'passkey_challenges.challenge_hash',
    'passkeys.public_key',
    'personal_api_keys.key_hash',
    'plugin_cursors.account',
    'plugin_oauth_requests.state_hash',
    'plugin_versions.seal',
    'recovery_codes.code_hash',
    // The content that a client sent, with no secret of ours.
    'refused_events.content',
    'saml_assertions.assertion_hash',
    'scim_directories.token_hash',
    'scim_left_addresses.address_hash',
    'scim_tokens.token_hash',
    'service_idempotency_keys.body_hash',
    'service_keys.key_hash',
    'sessions.previous_token_hash',
    'sessions.provider_settings_hash',
    'sessions.token_hash',
    'setup_links.token_hash',
    'sign_in_devices.device_hash',
    'sign_in_links.token_hash',
    'social_identities.trusted_settings_hash',
    'sso_requests.browser_hash',
    'sso_requests.settings_hash',
    'sso_requests.token_hash',
    'user_links.token_hash',
  ];
  const rows = await db.rows<{ name: string }>(
    sql`SELECT table_name || '.' || column_name AS name FROM information_schema.columns
      WHERE table_schema = 'public' AND data_type = 'bytea'`,
  );
  const known = [...untouched, ...sealed_fields.map(({ table, field }) => `${table}.${field}`)];
  assert.deepEqual(rows.map(({ name }) => name).toSorted(), known.toSorted());
});
