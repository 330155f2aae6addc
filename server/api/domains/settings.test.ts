import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { aroundTests } from '../../../test/around_tests.ts';
import { domainsPath, openDomainWorld } from '../../../test/factories/people/domains.ts';
import { openHarness } from '../../../test/harness.ts';
import type { Answer, TestOrganization } from '../../../test/harness.ts';
import { readConfig } from '../../config/config.ts';

const world = aroundTests(openDomainWorld);

const certificate = (name: string) =>
  readFileSync(new URL(`../../../test/certificates/${name}.crt`, import.meta.url), 'utf8');
const [acme, other, elliptic, weak] = ['saml_acme', 'saml_other', 'saml_elliptic', 'saml_weak'].map(
  certificate,
) as [string, string, string, string];
const bare = acme.replaceAll(/-----[^-]+-----|\s/g, '');
const saml = {
  saml_entity_id: 'https://idp.acme.test/metadata',
  saml_acs_url: 'https://idp.acme.test/sso',
  saml_x509_cert: acme.trim(),
};
const violations = ({ status, body }: Answer) => [
  status,
  ...(body.errors ?? []).map(({ attr, code }: { attr: string; code: string }) => `${attr} ${code}`),
];

const verified = async (home: TestOrganization) => world.prove(home, await world.claim(home));

test('an unproved domain can switch settings off, but not on', async () => {
  const home = await world.harness.newOrganization();
  const domain = await world.claim(home);
  const cases: [Record<string, unknown>, unknown[]][] = [
    [{ jit_provisioning_enabled: true }, [400, 'jit_provisioning_enabled verification_required']],
    [
      { jit_provisioning_enabled: true, sso_enforcement: 'saml', ...saml },
      [
        400,
        'jit_provisioning_enabled verification_required',
        'sso_enforcement verification_required',
      ],
    ],
    [{ jit_provisioning_enabled: false, sso_enforcement: '' }, [200]],
    [{ sso_enforcement: 'okta' }, [400, 'sso_enforcement invalid_choice']],
    [saml, [200]],
  ];
  for (const [body, expected] of cases)
    assert.deepEqual(
      violations(await world.change(home, domain, body)),
      expected,
      JSON.stringify(body),
    );
  const post = (body: Record<string, unknown>) =>
    home.ask('POST', domainsPath(home), { domain: 'new-one.test', ...body });
  assert.deepEqual(violations(await post({ jit_provisioning_enabled: true })), [
    400,
    'jit_provisioning_enabled verification_required',
  ]);
  assert.deepEqual(violations(await post({ sso_enforcement: 'saml', ...saml })), [
    400,
    'sso_enforcement verification_required',
  ]);
  const created = await post({ jit_provisioning_enabled: false, sso_enforcement: '', ...saml });
  assert.deepEqual(
    [created.status, created.body.has_saml, created.body.saml_x509_cert],
    [201, true, saml.saml_x509_cert],
  );
});

test('a verified domain takes the settings; enforced SAML keeps its provider', async () => {
  const home = await world.harness.newOrganization();
  const domain = await verified(home);
  const needed = Object.keys(saml).map((attr) => `${attr} required`);
  assert.deepEqual(violations(await world.change(home, domain, { sso_enforcement: 'saml' })), [
    400,
    ...needed,
  ]);
  assert.deepEqual(
    violations(
      await world.change(home, domain, { sso_enforcement: 'saml', ...saml, saml_acs_url: null }),
    ),
    [400, 'saml_acs_url required'],
  );
  const set = await world.change(home, domain, {
    jit_provisioning_enabled: true,
    sso_enforcement: ' saml ',
    ...saml,
  });
  assert.deepEqual(
    [set.status, set.body.has_saml, set.body.sso_enforcement, set.body.jit_provisioning_enabled],
    [200, true, 'saml', true],
  );
  assert.deepEqual(violations(await world.change(home, domain, { saml_x509_cert: null })), [
    400,
    'saml_x509_cert required',
  ]);
  const put = await home.ask('PUT', domainsPath(home, domain), set.body);
  assert.deepEqual(put.body, set.body);
  const unset = await world.change(home, domain, { sso_enforcement: '', saml_entity_id: null });
  assert.deepEqual(
    [unset.status, unset.body.has_saml, unset.body.saml_acs_url],
    [200, false, saml.saml_acs_url],
  );
  const emptied = await world.change(home, domain, { ...saml, saml_acs_url: ' ' });
  assert.deepEqual(
    [emptied.status, emptied.body.has_saml, emptied.body.saml_acs_url],
    [200, false, ''],
  );
  assert.deepEqual(
    violations(await world.change(home, domain, { sso_enforcement: 'saml', saml_x509_cert: '' })),
    [400, 'saml_acs_url required', 'saml_x509_cert required'],
  );
});

const wrong_fields: [string, unknown, string, RegExp][] = [
  ['jit_provisioning_enabled', 'yes', 'invalid_input', /./],
  ['jit_provisioning_enabled', null, 'null', /./],
  ['sso_enforcement', null, 'null', /./],
  ['sso_enforcement', 'SAML', 'invalid_choice', /"", "saml"\.$/],
  ['sso_enforcement', 'google-oauth2', 'invalid_choice', /"", "saml"\.$/],
  ['sso_enforcement', 1, 'invalid_input', /./],
  ['saml_entity_id', 'x'.repeat(513), 'max_length', /./],
  ['saml_entity_id', ['x'], 'invalid_input', /./],
  ['saml_acs_url', 'idp.acme.test', 'invalid_input', /https:\/\//],
  ['saml_acs_url', 'http://idp.acme.test/sso', 'invalid_input', /Over http, anybody/],
  ['saml_acs_url', 'http://127.0.0.1.acme.test/sso', 'invalid_input', /Over http, anybody/],
  ['saml_acs_url', 'http://localhost.acme.test/', 'invalid_input', /Over http, anybody/],
  ['saml_acs_url', 'javascript:alert(1)', 'invalid_input', /https:\/\//],
  ['saml_acs_url', 'https://user:secret@idp.acme.test/', 'invalid_input', /user and the password/],
  ['saml_acs_url', 'https://idp.acme.test/#x', 'invalid_input', /#/],
  ['saml_acs_url', 'https://idp.\nacme.test/', 'invalid_input', /line breaks/],
  ['saml_acs_url', 'https://idp.acme.test/\u202Esso', 'invalid_input', /control characters/],
  ['saml_acs_url', `https://idp.acme.test/${'x'.repeat(500)}`, 'max_length', /./],
  ['saml_x509_cert', 'not a certificate', 'invalid_input', /not an X\.509 certificate/],
  ['saml_x509_cert', elliptic, 'invalid_input', /not RSA/],
  ['saml_x509_cert', weak, 'invalid_input', /bits/],
  ['saml_x509_cert', `${acme}\nhello\n${other}`, 'invalid_input', /outside of the certificates/],
  [
    'saml_x509_cert',
    readFileSync(new URL('../../../test/certificates/saml_acme.key', import.meta.url), 'utf8'),
    'invalid_input',
    /private key/,
  ],
  ['saml_x509_cert', 5, 'invalid_input', /./],
];

test('wrong values are named with their field, all at once', async () => {
  const home = await world.harness.newOrganization();
  const domain = await verified(home);
  for (const [attr, value, code, detail] of wrong_fields) {
    const answer = await world.change(home, domain, { [attr]: value });
    assert.deepEqual(
      violations(answer),
      [400, `${attr} ${code}`],
      `${attr} ${String(value).slice(0, 60)}`,
    );
    assert.match(answer.body.detail, detail);
  }
  const all = await home.ask('POST', domainsPath(home), {
    domain: 'gmail.com',
    sso_enforcement: 'x',
    saml_entity_id: 5,
    saml_acs_url: 'x',
    saml_x509_cert: 'x',
  });
  assert.deepEqual(violations(all).slice(1).sort(), [
    'domain invalid_input',
    'saml_acs_url invalid_input',
    'saml_entity_id invalid_input',
    'saml_x509_cert invalid_input',
    'sso_enforcement invalid_choice',
  ]);
  assert.deepEqual(await world.read(home, domain), domain);
});

test('right values come back as they were sent, trimmed', async () => {
  const home = await world.harness.newOrganization();
  const domain = await world.claim(home);
  const values: [string, string[]][] = [
    [
      'saml_acs_url',
      [
        'http://localhost:8080/sso',
        'http://127.0.0.1/sso',
        'http://[::1]:1/sso',
        'https://idp.acme.test/sso?tenant=1',
      ],
    ],
    ['saml_x509_cert', [acme.trim(), bare, `${acme}${other}`.trim()]],
    ['saml_entity_id', ['urn:acme:idp', 'x'.repeat(512)]],
  ];
  for (const [attr, texts] of values)
    for (const text of texts)
      assert.equal((await world.change(home, domain, { [attr]: ` ${text}\n` })).body[attr], text);
});

test('the choices are what the operator has configured', async () => {
  const config = readConfig({
    SLUICE_GOOGLE_CLIENT_ID: 'id',
    SLUICE_GOOGLE_CLIENT_SECRET: 'secret',
    SLUICE_GITLAB_CLIENT_ID: 'id',
    SLUICE_GITLAB_CLIENT_SECRET: 'secret',
    SLUICE_OPENID_ISSUER: 'https://id.example/realms/acme',
    SLUICE_OPENID_CLIENT_ID: 'id',
    SLUICE_OPENID_CLIENT_SECRET: 'secret',
  });
  const harness = await openHarness({ clickhouse: false, config });
  const home = await harness.newOrganization();
  const post = (sso_enforcement: string) =>
    home.ask('POST', domainsPath(home), { domain: 'choices.test', sso_enforcement });
  const answers = await Promise.all(
    ['', 'saml', 'google-oauth2', 'gitlab', 'openid', 'github'].map(
      async (choice) => (await post(choice)).body.code,
    ),
  );
  assert.deepEqual(answers, [
    undefined,
    'verification_required',
    'verification_required',
    'verification_required',
    'verification_required',
    'invalid_choice',
  ]);
  await harness.close();
});
