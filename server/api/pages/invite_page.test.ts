import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, test } from 'node:test';
import sql from 'sql-template-tag';
import { openHarness } from '../../../test/harness.ts';
import type { Answer, Harness, TestOrganization } from '../../../test/harness.ts';
import {
  forgetAllAttempts,
  newPerson,
  openTestClock,
  signedIn,
} from '../../../test/factories/people.ts';

const hostile = `<script>alert('1')</script>"&amp;`;
const escaped = '&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&quot;&amp;amp;';
const hour_ms = 3_600_000;

const clock = openTestClock();
let harness: Harness;
before(async () => {
  harness = await openHarness({
    clickhouse: false,
    deps: { clock },
    config: { gitlab_client_id: 'id', gitlab_client_secret: 'secret' },
  });
});
after(() => harness.close());
beforeEach(() => forgetAllAttempts(harness));

type Made = { id: string; link: string; target_email: string };

async function invite(home: TestOrganization, fields: Record<string, unknown> = {}): Promise<Made> {
  const body = { target_email: `${randomUUID()}@example.org`, ...fields };
  const { status, body: made } = await harness.request(
    'POST',
    `/api/organizations/${home.organization.id}/invites/`,
    { key: home.key, body },
  );
  assert.equal(status, 201);
  return made as Made;
}

const pathOf = (link: string) => link.slice(harness.deps.config.public_url.length);
const open = (link: string, cookie = '') =>
  harness.request('GET', pathOf(link), { headers: { cookie } });
const formsOf = ({ text }: Answer) =>
  [...text.matchAll(/data-does="(\w+)"/g)].map((match) => match[1]);

async function newDomain(
  home: TestOrganization,
  fields: { sso_enforcement: string; saml: boolean },
): Promise<string> {
  const domain = `${randomUUID()}.example.com`;
  const saml = fields.saml ? 'https://idp.example' : null;
  await harness.deps.db.run(sql`
    INSERT INTO domains (id, organization_id, domain, verification_challenge, sso_enforcement,
      saml_entity_id, saml_acs_url, saml_x509_cert, state, since_at, reason, created_at)
    VALUES (${randomUUID()}, ${home.organization.id}, ${domain}, '', ${fields.sso_enforcement},
      ${saml}, ${saml}, ${saml}, 'verified', now(), '', now())`);
  return domain;
}

test('it says who invites to what and as what, whatever they are called', async () => {
  const home = await harness.newOrganization({ name: `Home ${hostile}` });
  await harness.deps.db.run(
    sql`UPDATE users SET first_name = ${`First ${hostile}`}, last_name = ${`Last ${hostile}`}
      WHERE id = ${home.user.id}`,
  );
  const answer = await open((await invite(home, { first_name: `"'><b>&lt;`, level: 8 })).link);
  assert.equal(answer.status, 200);
  assert.ok(answer.text.includes(`<title>Join Home ${escaped} - Sluice</title>`));
  assert.ok(answer.text.includes(`<bdi>First ${escaped} Last ${escaped}</bdi> invites you`));
  assert.ok(answer.text.includes('value="&quot;&#39;&gt;&lt;b&gt;&amp;lt;"'));
  assert.match(answer.text, /as\s+an administrator/);
  assert.ok(!answer.text.includes('<script>') && !answer.text.includes('<b>'));
});

test('the way in fits who looks at it', async () => {
  const known = await newPerson(harness);
  const [own, other] = [
    await signedIn(harness, known),
    await signedIn(harness, await newPerson(harness)),
  ];
  const cases: [string, string, string | undefined, string][] = [
    ['no account', 'new@example.org', undefined, 'sign_up'],
    ['a session that has ended', 'new@example.org', 'sluice_session=sls_0', 'sign_up'],
    ['an account, signed out', known.email, undefined, 'sign_in'],
    ['signed in with the account', known.email.toUpperCase(), own.cookie(), 'join'],
    ['signed in with another', known.email, other.cookie(), 'sign_out'],
  ];
  for (const [name, target_email, cookie, form] of cases) {
    const made = await invite(await harness.newOrganization(), { target_email });
    const answer = await open(made.link, cookie);
    assert.deepEqual([answer.status, formsOf(answer)], [200, [form]], name);
    assert.ok(answer.text.includes(`<bdi>${made.target_email}</bdi>`), name);
  }
});

test('what is sent holds the token of the link and leads to the invite', async () => {
  const { id, link } = await invite(await harness.newOrganization());
  const { text } = await open(link);
  assert.ok(text.includes(`action="/api/invites/${id}/accept/"`));
  assert.ok(text.includes(`name="token" value="${new URL(link).searchParams.get('token')}"`));
});

test('an invite that is not open is 404 with one page, one that has expired 410', async () => {
  const home = await harness.newOrganization({ name: 'Home' });
  const made = await invite(home);
  const wrong = [
    `/invite/${made.id}`,
    `/invite/${made.id}?token=`,
    `${pathOf(made.link)}x`,
    `/invite/${randomUUID()}?token=x`,
    '/invite/x',
    '/invite/..%2Fx',
    '/invite/%00',
    `/invite/${made.id}?token=%00`,
  ];
  for (const path of wrong) {
    const answer = await harness.request('GET', path);
    assert.ok([400, 404].includes(answer.status), `${path}: ${answer.status}`);
    assert.match(answer.text, /^<!doctype html>/);
    assert.ok(!answer.text.includes('Home'), path);
  }
  assert.equal((await open(`${made.link}&token=other`)).status, 200);
  clock.pass(73 * hour_ms);
  const expired = await open(made.link);
  assert.deepEqual([expired.status, formsOf(expired)], [410, []]);
  assert.match(expired.text, /This invite has expired[^]*<bdi>Home<\/bdi> to invite you again/);
});

test('without the token it opens for the verified address alone', async () => {
  const user = await newPerson(harness);
  const browser = await signedIn(harness, user);
  const { id } = await invite(await harness.newOrganization(), { target_email: user.email });
  assert.equal((await browser.ask('GET', `/invite/${id}`)).status, 404);
  await harness.deps.db.run(sql`UPDATE users SET is_email_verified = true WHERE id = ${user.id}`);
  assert.deepEqual(formsOf(await browser.ask('GET', `/invite/${id}`)), ['join']);
});

test("the domain's providers are offered; one that is enforced is the only way", async () => {
  const home = await harness.newOrganization();
  const cases: [{ sso_enforcement: string; saml: boolean } | undefined, string[], string[]][] = [
    [undefined, ['sign_up'], ['gitlab']],
    [{ sso_enforcement: '', saml: true }, ['sign_up'], ['saml', 'gitlab']],
    [{ sso_enforcement: 'saml', saml: true }, [], ['saml']],
    [{ sso_enforcement: 'gitlab', saml: false }, [], ['gitlab']],
    // Not set up on this server, so it locks nobody out.
    [{ sso_enforcement: 'github', saml: false }, ['sign_up'], ['gitlab']],
  ];
  for (const [fields, forms, ways] of cases) {
    const domain = fields === undefined ? 'example.net' : await newDomain(home, fields);
    const { id, link, target_email } = await invite(home, {
      target_email: `ada+1-${randomUUID().slice(0, 8)}@${domain}`,
    });
    const answer = await open(link);
    assert.deepEqual(formsOf(answer), forms);
    const links = [...answer.text.matchAll(/href="\/login\/(\w+)\/\?([^"]*)"/g)];
    assert.deepEqual(
      links.map((match) => match[1]),
      ways,
    );
    for (const [, , query] of links) {
      const asked = new URLSearchParams(query!.replaceAll('&amp;', '&'));
      assert.deepEqual([asked.get('email'), asked.get('next')], [target_email, `/invite/${id}`]);
    }
  }
});
