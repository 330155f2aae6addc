import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { inDepth } from '../../../test/depth.ts';
import {
  codeOf,
  forgetAllAttempts,
  newPerson,
  setUpSecondFactor,
  signedIn,
  trySignIn,
} from '../../../test/factories/people/people.ts';
import {
  clock,
  harness,
  openAroundTests,
} from '../../../test/factories/people/people_around_tests.ts';

openAroundTests();

/** Somebody with a second factor, of whose codes the present one is not used yet. */
async function newProtected() {
  const user = await newPerson(harness);
  const set_up = await setUpSecondFactor(harness, await signedIn(harness, user));
  clock.pass(60_000);
  return { user, ...set_up, code: () => codeOf(set_up.secret, clock.now()) };
}

test('the code is asked for only after the right password', async () => {
  const { user, code } = await newProtected();
  const asked = await trySignIn(harness, user.email);
  assert.deepEqual(
    [asked.status, asked.body.type, asked.body.code],
    [401, 'authentication_error', 'second_factor_required'],
  );
  for (const more of [{}, { code: code() }, { code: '000000' }]) {
    const refused = await trySignIn(harness, user.email, { password: 'another password', ...more });
    assert.deepEqual(
      [refused.status, refused.body.code, /account/.test(refused.body.detail)],
      [401, 'authentication_failed', true],
    );
  }
  assert.equal((await trySignIn(harness, user.email, { code: code() })).status, 201);
});

test('a code is good in its half minute, the one before and the one after, and once', async () => {
  const { user, secret } = await newProtected();
  const attempt = async (steps: number) => {
    await forgetAllAttempts(harness);
    return (await trySignIn(harness, user.email, { code: codeOf(secret, clock.now(), steps) }))
      .status;
  };
  assert.deepEqual([await attempt(-2), await attempt(2)], [401, 401]);
  assert.deepEqual([await attempt(-1), await attempt(-1)], [201, 401]);
  assert.deepEqual([await attempt(1), await attempt(1)], [201, 401]);
  assert.equal(await attempt(0), 401, 'a step before one that was used counts as used');
  clock.pass(60_000);
  assert.equal(await attempt(0), 201);
});

test('one of ten concurrent sign-ins with one code succeeds', async () => {
  for (let round = 0; round < inDepth(1, 3); round += 1) {
    const { user, code, recovery_codes } = await newProtected();
    for (const shown of [code(), recovery_codes[round]!]) {
      await forgetAllAttempts(harness);
      // Five are let through to the password at once.
      const answers = await Promise.all(
        Array.from({ length: 10 }, () => trySignIn(harness, user.email, { code: shown })),
      );
      assert.equal(
        answers.filter(({ status }) => status === 201).length,
        1,
        answers.map(({ status }) => status).join(),
      );
    }
  }
});

test('a recovery code signs in once, however written; log and account say so', async () => {
  const { user, recovery_codes } = await newProtected();
  const [one, two, three] = recovery_codes as [string, string, string];
  assert.equal((await trySignIn(harness, user.email, { code: one })).status, 201);
  assert.equal((await trySignIn(harness, user.email, { code: one })).status, 401);
  assert.equal(
    (await trySignIn(harness, user.email, { code: ` ${two.toLowerCase().replace('-', ' ')} ` }))
      .status,
    201,
  );
  const browser = await signedIn(harness, user, { code: three });
  assert.equal((await browser.ask('GET', '/api/users/@me/')).body.recovery_codes_left, 7);
  const rows = await harness.deps.db.rows<{ changes: { field: string; after: unknown }[] }>(
    sql`SELECT changes FROM activity WHERE chain_id = ${user.uuid}::uuid AND activity = 'created'
      ORDER BY number`,
  );
  const factors = rows.map(
    ({ changes }) => changes.find(({ field }) => field === 'second_factor')?.after,
  );
  assert.deepEqual(factors, ['none', 'recovery_code', 'recovery_code', 'recovery_code']);
});

test('the store keeps argon2id of recovery codes, and one byte to find each', async () => {
  const { user, recovery_codes } = await newProtected();
  const rows = await harness.deps.db.rows<{ code_hash: Buffer; argon2id: string }>(
    sql`SELECT code_hash, argon2id FROM recovery_codes WHERE user_id = ${user.id}`,
  );
  assert.equal(rows.length, 10);
  for (const { code_hash, argon2id } of rows) {
    assert.equal(code_hash.length, 1);
    assert.match(argon2id, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  }
  // Found by the same byte, and another code all the same.
  const [known] = rows;
  await harness.deps.db.run(
    sql`UPDATE recovery_codes SET argon2id = ${known!.argon2id}
      WHERE user_id = ${user.id} AND code_hash <> ${known!.code_hash}`,
  );
  const tried = await Promise.all(
    recovery_codes.slice(0, 3).map((code) => trySignIn(harness, user.email, { code })),
  );
  assert.ok(tried.filter(({ status }) => status === 201).length <= 1);
});

test('a recovery code from before works once, or until it is replaced', async () => {
  const { user } = await newProtected();
  const keepAsBefore = (code: string) =>
    harness.deps.db.run(
      sql`INSERT INTO recovery_codes (user_id, code_hash)
        VALUES (${user.id}, ${harness.deps.secrets.hash(`recovery code ${user.id} ${code}`)})`,
    );
  await keepAsBefore('ABCDEFGHIJ');
  await keepAsBefore('KLMNOPQRST');
  const round = await Promise.all(
    Array.from({ length: 4 }, () => trySignIn(harness, user.email, { code: 'abcde-fghij' })),
  );
  assert.deepEqual(round.map(({ status }) => status).sort(), [201, 401, 401, 401]);
  const browser = await signedIn(harness, user, { code: 'KLMNO-PQRST' });
  assert.equal((await browser.ask('GET', '/api/users/@me/')).body.recovery_codes_left, 10);
  // A byte of an HMAC alone is no code.
  await harness.deps.db.run(
    sql`UPDATE recovery_codes SET argon2id = NULL WHERE user_id = ${user.id}`,
  );
  assert.equal((await trySignIn(harness, user.email, { code: 'ABCDE-FGHIJ' })).status, 401);
});

test("another person's recovery code is worth nothing", async () => {
  const [one, other] = [await newProtected(), await newProtected()];
  assert.equal(
    (await trySignIn(harness, one.user.email, { code: other.recovery_codes[0]! })).status,
    401,
  );
});

test('validate_only uses no code up', async () => {
  const { user, code } = await newProtected();
  const body = { email: user.email, password: 'tidal lamp orchid crust', code: code() };
  assert.equal(
    (await harness.request('POST', '/api/sessions/?validate_only=true', { body })).status,
    200,
  );
  assert.equal((await harness.request('POST', '/api/sessions/', { body })).status, 201);
});

test('a second factor without a seed opens for no code', async () => {
  const user = await newPerson(harness);
  await harness.giveSecondFactor(user);
  for (const code of ['000000', '123456', 'AAAAA-AAAAA', '-', '      1'])
    assert.equal((await trySignIn(harness, user.email, { code })).status, 401, code);
});
