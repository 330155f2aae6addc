import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openTestStores } from '../../../test/harness_stores.ts';
import type { TestStores } from '../../../test/harness_stores.ts';
import { insertOrganization } from '../../api/organizations/store.ts';
import { insertUser } from '../../api/users/store.ts';
import { readConfig } from '../../config/config.ts';
import { appendActivity, server_actor } from '../../platform/activity/chain.ts';
import type { Chain } from '../../platform/activity/chain.ts';
import { silentLog } from '../../platform/log.ts';
import { openDatabase } from '../../platform/postgres/database.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { openSecrets } from '../../platform/secrets/secrets.ts';
import { doctor } from './doctor.ts';

const secret_key = 'the secret of the server that the doctor looks at';

let stores: TestStores;
let db: Database;
let folder: string;
/** The two chains: of an organization with three entries, and of its owner with one. */
let [organization_id, user_uuid] = ['', ''];
const email = 'owner@example.com';
before(async () => {
  stores = await openTestStores({ clickhouse: true });
  folder = mkdtempSync(join(tmpdir(), 'sluice-doctor-'));
  db = openDatabase(stores.database_url, { connections_max: 4, application_name: 'sluice-test' });
  await db.transaction(async (tx) => {
    const user = await insertUser(tx, { email, password_hash: null });
    user_uuid = user.uuid;
    organization_id = (await insertOrganization(tx, { name: 'Acme' }, user.id)).id;
    const append = (chain: Chain, scope: string) =>
      appendActivity(tx, openSecrets(secret_key), chain, server_actor, {
        activity: 'updated',
        scope,
        item_id: '1',
        item_name: null,
        changes: [],
      });
    for (const scope of ['project', 'member', 'domain']) await append({ organization_id }, scope);
    await append({ user_uuid }, 'personal_api_key');
  });
});
after(async () => {
  await db.close();
  await stores.close();
  rmSync(folder, { recursive: true, force: true });
});

/**
 * Runs `sluice doctor` on the stores and gives its exit code and what it says of the activity log,
 * with its last line.
 */
async function looked(
  key = secret_key,
): Promise<{ code: number; lines: string[]; activity: string[]; last: string | undefined }> {
  const config = readConfig({
    SLUICE_DATABASE_URL: stores.database_url,
    SLUICE_CLICKHOUSE_URL: stores.clickhouse_url,
    SLUICE_SECRET_KEY: key,
    SLUICE_DATA_DIR: join(folder, 'data'),
    SLUICE_EXPORT_DIR: join(folder, 'exports'),
  });
  const lines: string[] = [];
  const code = await doctor({ config, log: silentLog(), say: (line) => lines.push(line) });
  return {
    code,
    lines,
    activity: lines
      .filter((line) => line.includes('activity log:'))
      .map((line) => line.replace(/^(\w+) +activity log: /, '$1 ')),
    last: lines.at(-1),
  };
}

const tamper = (statement: string) => db.text(statement);

test('a log that is whole is well, and the doctor finds no fault', async () => {
  const { code, lines, activity, last } = await looked();
  assert.deepEqual(
    { code, activity },
    { code: 0, activity: ['ok 4 entries in 2 chains, unchanged'] },
  );
  const warnings = lines.filter((line) => line.startsWith('warning ')).length;
  if (warnings === 0) assert.equal(last, 'Nothing is wrong.');
});

test('a fault is one sentence with the name it concerns, and exit code 1', async () => {
  await tamper('CREATE TABLE kept AS TABLE activity');
  await tamper(
    `UPDATE activity SET user_email = 'other@example.com' WHERE number = 1
      AND chain_id = '${organization_id}'`,
  );
  await tamper(`DELETE FROM activity WHERE number = 3 AND chain_id = '${organization_id}'`);
  await tamper(`DELETE FROM activity WHERE chain_id = '${user_uuid}'`);
  const { code, activity, last } = await looked();
  assert.deepEqual(
    [code, last, activity.toSorted()],
    [
      1,
      '3 things are wrong.',
      [
        `fault organization "Acme" (${organization_id}), entry 1: The entry is not what the ` +
          'server wrote here, or the head of the chain had been changed when it was written.',
        `fault organization "Acme" (${organization_id}), entry 2: The entry 3 is missing.`,
        `fault person ${email} (${user_uuid}), entry 1: The entry 1 is missing.`,
        'warning keep a copy of the database, then compare the log with a backup or an ' +
          'exported file.',
      ],
    ],
  );
  await tamper('DELETE FROM activity');
  await tamper('INSERT INTO activity SELECT * FROM kept');
});

test('another secret key opens nothing, and the doctor says which one to start with', async () => {
  const { code, lines } = await looked('the secret of another server, 32 or more');
  assert.equal(code, 1);
  assert.match(
    lines.join('\n'),
    /^fault +stores: This database was set up under another secret key\. Start with that one/m,
  );
});

test('the doctor says what to look for if the server’s own keys are lost', async () => {
  await tamper('CREATE TABLE kept_keys AS TABLE server_keys');
  await tamper('DELETE FROM server_keys');
  const { code, activity } = await looked('the secret of another server, 32 or more');
  assert.equal(code, 1);
  assert.match(activity.at(-1)!, /secret key/);
  await tamper('DELETE FROM server_keys');
  await tamper('INSERT INTO server_keys SELECT * FROM kept_keys');
});

test('the doctor names the first of very many faults, and counts the others', async () => {
  const columns =
    'activity, scope, item_id, item_name, changes, user_id, user_uuid, user_email, key_id, ' +
    'key_mask, session_id, ip, request_id, created_at, previous_hash, hash';
  await tamper(
    `INSERT INTO activity SELECT gen_random_uuid(), chain_id, n, organization_id, ${columns}
      FROM activity, generate_series(4, 103) n WHERE number = 3
      AND chain_id = '${organization_id}'`,
  );
  const { code, activity } = await looked();
  assert.deepEqual([code, activity.length], [1, 22]);
  assert.match(activity[20]!, /^fault 81 more places/);
  await tamper('DELETE FROM activity WHERE number > 3');
  assert.equal((await looked()).code, 0);
});
