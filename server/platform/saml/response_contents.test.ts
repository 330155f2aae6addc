import assert from 'node:assert/strict';
import { test } from 'node:test';
import { acceptFacts } from '../../../test/saml/sign_ins.ts';

test('the address is found under the names of providers, in any case, else NameID', async () => {
  const names = [
    'email',
    'Email',
    'mail',
    'User.email',
    'emailAddress',
    'urn:oid:0.9.2342.19200300.100.1.3',
    'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress',
  ];
  for (const name of names)
    assert.equal(
      (
        await acceptFacts({
          attributes: { [name]: ' Ada@ACME.example ' },
          name_id: 'x',
          name_id_format: 'urn:x',
        })
      ).email,
      'ada@acme.example',
      name,
    );
  assert.equal((await acceptFacts({ attributes: {} })).email, 'ada@acme.example');
  assert.equal(
    (
      await acceptFacts({
        attributes: { email: 'ada@acme.example', mail: 'ADA@acme.example' },
        name_id: 'root@acme.example',
      })
    ).email,
    'ada@acme.example',
  );
});

test('names are one line each, and are absent when the provider says none', async () => {
  const signIn = await acceptFacts({
    attributes: {
      email: 'ada@acme.example',
      givenName: 'Ada\u202e\nAugusta',
      sn: '\u{1f600}'.repeat(200),
    },
  });
  assert.deepEqual(
    [signIn.first_name, signIn.last_name],
    ['Ada  Augusta', '\u{1f600}'.repeat(150)],
  );
  assert.ok(!('first_name' in (await acceptFacts({ attributes: {} }))));
});

test('attributes with names of JavaScript are attributes like others', async () => {
  const { attributes } = await acceptFacts({
    attributes: { ['__proto__']: 'a', constructor: 'b', email: 'ada@acme.example' },
  });
  assert.deepEqual(Object.entries(attributes), [
    ['__proto__', ['a']],
    ['constructor', ['b']],
    ['email', ['ada@acme.example']],
  ]);
  assert.equal(Object.getPrototypeOf(attributes), Object.prototype);
});
