import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PasswordsBusyError, hashPassword, isNobodysPassword, isPassword } from './password.ts';

test('a password is known again, another is not, and two hashes of one differ', async () => {
  const [one, two] = [await hashPassword('correct horse'), await hashPassword('correct horse')];
  assert.match(one, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
  assert.notEqual(one, two);
  assert.ok(await isPassword('correct horse', one));
  assert.ok(!(await isPassword('correct horsf', one)));
  assert.ok(!(await isPassword('', one)));
});

test('a password is the same in any Unicode form', async () => {
  assert.ok(await isPassword('caf\u00e9', await hashPassword('cafe\u0301')));
});

test('a hash other than argon2id matches no password', async () => {
  for (const hash of ['', 'x', '$argon2id$v=19$m=1,t=1,p=1$$', '$2b$10$abcdefghijklmnopqrstuv'])
    assert.ok(!(await isPassword('x', hash)));
});

test('concurrent hashes take turns; one that would wait too long is refused', async () => {
  // 8 KiB and one pass: it is about the order and not about the time.
  const quick =
    '$argon2id$v=19$m=8,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';
  const settled = await Promise.allSettled(
    Array.from({ length: 150 }, () => isPassword('x', quick)),
  );
  assert.equal(settled.filter(({ status }) => status === 'fulfilled').length, 103);
  for (const one of settled)
    if (one.status === 'rejected') assert.ok(one.reason instanceof PasswordsBusyError);
  assert.equal(await isPassword('x', quick), false);
  assert.equal(await isNobodysPassword('x'), false);
});
