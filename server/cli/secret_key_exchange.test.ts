import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { openTestStores } from '../../test/harness_stores.ts';
import { readConfig } from '../config/config.ts';
import {
  exchangeKeptSecretKey,
  forgetFormerSecretKey,
  keptSecretKeys,
} from '../platform/secrets/kept_secret_keys.ts';
import { silentLog } from '../platform/log.ts';
import { openDatabase } from '../platform/postgres/database.ts';
import { WrongSecretKeyError } from '../platform/secrets/server_keys.ts';
import { rotateSecrets } from './secrets.ts';
import { folderAroundTests } from '../../test/around_tests.ts';

const [first, second] = [
  'a secret that only tests have, 32 or more',
  'the secret that comes after that of the tests',
];

const folder = folderAroundTests();

test('the data folder keeps every needed secret key, wherever an exchange is killed', () => {
  const present = () => readFileSync(join(folder, 'secret_key'), 'utf8');
  const [old] = keptSecretKeys(folder);
  assert.deepEqual(keptSecretKeys(folder), [old]);
  // Killed between its two steps: the former one is noted, the new one is not there yet.
  writeFileSync(join(folder, 'secret_key.previous'), old);
  assert.deepEqual(keptSecretKeys(folder), [old]);
  exchangeKeptSecretKey(folder);
  const [next] = keptSecretKeys(folder);
  assert.notEqual(next, old);
  assert.deepEqual(keptSecretKeys(folder), [present(), old]);
  exchangeKeptSecretKey(folder);
  assert.deepEqual(
    keptSecretKeys(folder),
    [next, old],
    'an exchange that is not over must not begin another one',
  );
  forgetFormerSecretKey(folder);
  assert.deepEqual(keptSecretKeys(folder), [next]);
});

test('the command counts its work, names what no key opens, creates the kept key', async () => {
  const stores = await openTestStores({ clickhouse: true });
  const data_dir = join(folder, 'own');
  const rotated = async (set: Record<string, string>) => {
    const lines: string[] = [];
    const environment = {
      SLUICE_DATABASE_URL: stores.database_url,
      SLUICE_CLICKHOUSE_URL: stores.clickhouse_url,
      SLUICE_DATA_DIR: data_dir,
      ...set,
    };
    const code = await rotateSecrets({
      config: readConfig(environment),
      log: silentLog(),
      say: (line) => lines.push(line),
    });
    return { code, text: lines.join('\n') };
  };
  const own = openDatabase(stores.database_url, {
    connections_max: 1,
    application_name: 'sluice-test',
  });
  try {
    await rotated({ SLUICE_SECRET_KEY: keptSecretKeys(data_dir)[0] });
    const begun = await rotated({});
    assert.equal(begun.code, 0, begun.text);
    const [next, former] = keptSecretKeys(data_dir);
    assert.ok(former !== undefined && /secret_key\.previous\./.test(begun.text), begun.text);
    assert.match(begun.text, /^ {7}1 {2}server_keys\.sealed$/m);
    assert.match((await rotated({})).text, /^Continues an unfinished rotation/);
    assert.deepEqual(keptSecretKeys(data_dir), [next, former]);
    const moved = await rotated({ SLUICE_SECRET_KEY: second, SLUICE_PREVIOUS_SECRET_KEYS: next });
    assert.deepEqual(
      [moved.code, /^ {7}1 {2}server_keys\.sealed$/m.test(moved.text)],
      [0, true],
      moved.text,
    );
    assert.match(
      (await rotated({ SLUICE_SECRET_KEY: second })).text,
      /^ {7}0 {2}server_keys\.sealed$/m,
    );
    await own.text(
      'INSERT INTO users (uuid, distinct_id, email, totp_secret) VALUES (gen_random_uuid(), ' +
        "'x', 'x@example.com', '\\x01')",
    );
    const faulty = await rotated({ SLUICE_SECRET_KEY: second });
    assert.equal(faulty.code, 1);
    assert.match(faulty.text, /^No accepted secret key opens users \d+:/m);
    await assert.rejects(rotated({ SLUICE_SECRET_KEY: first }), WrongSecretKeyError);
  } finally {
    await own.close();
    await stores.close();
  }
});
