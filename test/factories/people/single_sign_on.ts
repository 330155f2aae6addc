import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import sql from 'sql-template-tag';
import type { DomainRow } from '../../../server/api/domains/schema.ts';
import { openHarness } from '../../harness.ts';
import type { Answer, Harness, HarnessOptions, TestOrganization } from '../../harness.ts';
import { openTestClock } from './people.ts';
import type { TestClock } from './people.ts';
import {
  encodeResponse,
  readLoginUrl,
  responseFacts,
  signedResponse,
  testIdentityProvider,
} from '../../saml/identity_provider.ts';
import type { IdentityProvider, ResponseFacts } from '../../saml/identity_provider.ts';

/** A server whose clock the test sets and whose log it reads. */
export type SingleSignOnWorld = {
  harness: Harness;
  clock: TestClock;
  /** The reasons of the refusals since the last call, oldest first. */
  reasons(): string[];
  /**
   * Creates an organization with a verified domain (by default `acme.example`) whose provider is
   * `acme`; `fields` are further settings of the domain.
   */
  newHome(fields?: Record<string, unknown>, domain?: string): Promise<Home>;
  close(): Promise<void>;
};

/** An organization of a test with its verified domain. */
export type Home = TestOrganization & { domain: DomainRow };

/** A browser with its cookies. A form of another site sends none of them. */
export type Navigator = {
  cookies: Map<string, string>;
  go(path: string): Promise<Answer>;
  /** Posts a form; `from_elsewhere`: it is the form of a page of another site. */
  post(path: string, fields: Record<string, string>, from_elsewhere?: boolean): Promise<Answer>;
};

const acme = testIdentityProvider('acme');
const saml_fields = {
  saml_entity_id: acme.entity_id,
  saml_acs_url: acme.sso_url,
  saml_x509_cert: acme.certificate,
};

/**
 * Opens the server. The test's clock stands still at the current second. `wall_clock` uses the
 * machine's clock, for providers that read theirs.
 */
export async function openSingleSignOn(
  options: HarnessOptions & { wall_clock?: boolean } = {},
): Promise<SingleSignOnWorld> {
  const clock = openTestClock();
  const lines: { security_event?: string; reason?: string }[] = [];
  const write = (chunk: Buffer, _encoding: string, done: () => void) => {
    lines.push(JSON.parse(String(chunk)) as (typeof lines)[number]);
    done();
  };
  const deps = {
    log: pino({ level: 'warn' }, new Writable({ write })),
    ...(options.wall_clock === true ? {} : { clock }),
    ...options.deps,
  };
  const harness = await openHarness({ clickhouse: false, ...options, deps });
  return {
    harness,
    clock,
    reasons: () =>
      lines
        .splice(0)
        .flatMap(({ security_event, reason }) =>
          security_event === 'single_sign_on_refused' ? (reason ?? []) : [],
        ),
    newHome: (fields, domain) => newHome(harness, fields, domain),
    close: () => harness.close(),
  };
}

async function newHome(
  harness: Harness,
  fields: Record<string, unknown> = {},
  name = 'acme.example',
): Promise<Home> {
  // One verified domain of this name at a time.
  await harness.deps.db.run(sql`DELETE FROM domains WHERE domain = ${name}`);
  await harness.deps.db.run(sql`DELETE FROM users WHERE email LIKE ${`%@${name}`}`);
  const organization = await harness.newOrganization();
  const base = `/api/organizations/${organization.organization.id}/domains/`;
  const claimed = await organization.ask('POST', base, { domain: name });
  await harness.deps.db.run(
    sql`UPDATE domains SET state = 'verified' WHERE id = ${claimed.body.id}`,
  );
  const changed = await organization.ask('PATCH', `${base}${claimed.body.id}/`, {
    ...saml_fields,
    ...fields,
  });
  assert.equal(changed.status, 200, changed.text);
  return { ...organization, domain: changed.body as DomainRow };
}

/** Changes the domain's settings as its owner. */
export async function changeDomain(home: Home, body: unknown): Promise<void> {
  const path = `/api/organizations/${home.organization.id}/domains/${home.domain.id}/`;
  const changed = await home.ask('PATCH', path, body);
  assert.equal(changed.status, 200, changed.text);
}

/** Opens a browser without cookies. */
export function openNavigator(harness: Harness): Navigator {
  const cookies = new Map<string, string>();
  const send = async (
    method: string,
    path: string,
    withCookies: boolean,
    fields?: Record<string, string>,
  ): Promise<Answer> => {
    const headers: Record<string, string> = { 'user-agent': 'navigator' };
    if (withCookies && cookies.size > 0)
      headers['cookie'] = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    if (fields !== undefined) headers['content-type'] = 'application/x-www-form-urlencoded';
    if (fields !== undefined)
      headers['sec-fetch-site'] = withCookies ? 'same-origin' : 'cross-site';
    const answer = await harness.request(method, path, {
      headers,
      ...(fields === undefined ? {} : { body: new URLSearchParams(fields).toString() }),
    });
    for (const set of [answer.headers['set-cookie'] ?? []].flat()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      cookies.set(name, value);
    }
    return answer;
  };
  return {
    cookies,
    go: (path) => send('GET', path, true),
    post: (path, fields, from_elsewhere = false) => send('POST', path, !from_elsewhere, fields),
  };
}

/**
 * Begins a SAML sign-in and returns what the provider reads in it. Fails if the browser is not sent
 * to a provider.
 */
export async function beginSaml(
  browser: Navigator,
  email = 'ada@acme.example',
  more = '',
): Promise<ReturnType<typeof readLoginUrl>> {
  const answer = await browser.go(`/login/saml/?email=${encodeURIComponent(email)}${more}`);
  assert.equal(answer.status, 303, answer.text);
  return readLoginUrl(answer.headers['location']!);
}

/** The genuine response of a provider to a request, with changes. */
export function genuine(
  { clock }: Pick<SingleSignOnWorld, 'clock'>,
  request: { id: string; acs_url: string; issuer: string },
  changes: Partial<ResponseFacts> & { email?: string } = {},
  provider: IdentityProvider = acme,
): string {
  const { email = 'ada@acme.example', ...facts } = changes;
  return signedResponse(provider, {
    ...responseFacts(provider, request, { email }, clock.now()),
    ...facts,
  });
}

/** The form with a response (XML) that the provider's page makes the browser send. */
export function postResponse(browser: Navigator, xml: string): Promise<Answer> {
  return browser.post(
    '/complete/saml/',
    { SAMLResponse: encodeResponse(xml), RelayState: '' },
    true,
  );
}

/** Posts a response and follows its redirect. */
export async function respond(browser: Navigator, xml: string): Promise<Answer> {
  const taken = await postResponse(browser, xml);
  return taken.status === 303 ? browser.go(taken.headers['location']!) : taken;
}

/**
 * Asserts that the genuine response to the request still signs in, so that the earlier refusal did
 * not concern the request.
 */
export async function assertStillOpen(
  world: SingleSignOnWorld,
  browser: Navigator,
  request: Parameters<typeof genuine>[1],
): Promise<void> {
  assert.equal((await respond(browser, genuine(world, request))).status, 303);
}

/** Does a whole SAML sign-in; returns the last answer. */
export async function signInBySaml(
  world: SingleSignOnWorld,
  browser: Navigator,
  email = 'ada@acme.example',
  more = '',
): Promise<Answer> {
  return respond(browser, genuine(world, await beginSaml(browser, email, more), { email }));
}

/** Returns the header with the browser's session; empty without a session. */
export function sessionOf({ cookies }: Navigator): { cookie?: string } {
  const name = ['sluice_session', '__Host-sluice_session'].find((one) => cookies.has(one));
  return name === undefined ? {} : { cookie: `${name}=${cookies.get(name)}` };
}

/** Returns the account signed in at the browser, from `/api/users/@me/`; undefined without one. */
export async function accountAt(harness: Harness, browser: Navigator) {
  const { status, body } = await harness.request('GET', '/api/users/@me/', {
    headers: { ...sessionOf(browser) },
  });
  return status === 200 ? body : undefined;
}

/**
 * Fails unless the answer is the neutral page with this status and nobody is signed in at the
 * browser.
 */
export async function assertRefused(
  world: SingleSignOnWorld,
  browser: Navigator,
  answer: Answer,
  reason: string,
  status = 403,
): Promise<void> {
  const reasons = world.reasons();
  assert.deepEqual([answer.status, reasons], [status, [reason]], answer.text);
  assert.match(answer.headers['content-type']!, /^text\/html/);
  assert.equal(shownIn(answer), neutralTo(answer));
  assert.equal(answer.headers['set-cookie'], undefined);
  assert.deepEqual(sessionOf(browser), {});
}

/** The text of a page, without its head, header and footer. */
export function shownIn({ text }: Answer): string {
  const [, main = ''] = /<main>([\s\S]*)<\/main>/.exec(text) ?? [];
  return main
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

/** Returns the text for a failed sign-in, whatever the reason. */
export function neutralTo({ headers }: Answer): string {
  return (
    'You are not signed in You were not signed in. Try again. If it fails again, give your ' +
    `administrator the request id. Request id: ${headers['x-request-id']} Back to sign-in`
  );
}
