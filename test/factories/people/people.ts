import assert from 'node:assert/strict';
import { argon2Sync, randomBytes, randomUUID } from 'node:crypto';
import sql from 'sql-template-tag';
import { TOTP } from 'otpauth';
import { eventually } from '../../eventually.ts';
import { findUserByEmail, insertUser } from '../../../server/api/users/store.ts';
import type { UserRow } from '../../../server/api/users/store.ts';
import type { Answer, Harness } from '../../harness.ts';
import type { MailServer, ReceivedMail } from '../../servers/mail_server.ts';

/** The password of all people of `newPerson`. */
export const password = 'tidal lamp orchid crust';
/** Another valid password. */
export const other_password = 'violet anchor mosaic dune';
const hash = hashQuickly(password);

/**
 * Hashes a password with the least work, for `newPerson` without a hash. The hash contains its
 * work, so that a check is as cheap. A test of the work itself uses a hash of `hashPassword`.
 */
function hashQuickly(message: string): string {
  const nonce = randomBytes(16);
  const cost = { memory: 8, passes: 1, parallelism: 1, tagLength: 32 };
  const tag = argon2Sync('argon2id', { message, nonce, ...cost });
  const [salt, kept] = [nonce, tag].map((bytes) => bytes.toString('base64').replace(/=+$/, ''));
  return `$argon2id$v=19$m=${cost.memory},t=${cost.passes},p=1$${salt}$${kept}`;
}

/** A clock that a test moves. */
export type TestClock = { now(): number; pass(milliseconds: number): void };

/**
 * Creates a clock that stands still at the second of its first reading, until the test moves it.
 * That may be long after its file was loaded, if other files of the process ran before.
 */
export function openTestClock(): TestClock {
  let passed = 0;
  let start: number | undefined;
  const now = () => (start ??= Math.floor(Date.now() / 1000) * 1000) + passed;
  return { now, pass: (milliseconds) => void (passed += milliseconds) };
}

/** Creates a user with `password` who belongs to no organization. */
export async function newPerson(
  { deps }: Harness,
  fields: { email?: string; password_hash?: string | null; first_name?: string } = {},
): Promise<UserRow> {
  const password_hash = fields.password_hash === undefined ? hash : fields.password_hash;
  return deps.db.transaction((tx) =>
    insertUser(tx, { email: `${randomUUID()}@example.com`, ...fields, password_hash }),
  );
}

/** Tries to sign in, by default from 127.0.0.1. */
export function trySignIn(
  harness: Harness,
  email: string,
  more: { password?: string; code?: string } = {},
  headers: Record<string, string> = {},
): Promise<Answer> {
  return harness.request('POST', '/api/sessions/', { body: { email, password, ...more }, headers });
}

/** A browser: it keeps the cookie of answers, and shows it. */
export type TestBrowser = {
  cookie(): string | undefined;
  ask(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer>;
};

/** Opens a browser, with this cookie if there is one. */
export function openBrowser(harness: Harness, cookie?: string): TestBrowser {
  let kept = cookie;
  return {
    cookie: () => kept,
    ask: async (method, path, body, headers = {}) => {
      const answer = await harness.request(method, path, {
        headers: { ...(kept === undefined ? {} : { cookie: kept }), ...headers },
        body,
      });
      const set = setCookieOf(answer);
      if (set !== undefined) kept = /=;/.test(set) ? undefined : set.split(';')[0];
      return answer;
    },
  };
}

/** Opens a browser in which the person has just signed in with `password`. */
export async function signedIn(
  harness: Harness,
  user: UserRow,
  more: { code?: string; password?: string } = {},
): Promise<TestBrowser> {
  const browser = openBrowser(harness);
  const answer = await browser.ask('POST', '/api/sessions/', {
    email: user.email,
    password,
    ...more,
  });
  assert.equal(answer.status, 201, answer.text);
  return browser;
}

/** Creates a person, and signs them in with their password. */
export async function newSignedIn(
  harness: Harness,
): Promise<{ user: UserRow; browser: TestBrowser }> {
  const user = await newPerson(harness);
  return { user, browser: await signedIn(harness, user) };
}

/**
 * Returns the session's `set-cookie`; fails if there are several, or any other besides that of the
 * device.
 */
export function setCookieOf(answer: Answer): string | undefined {
  const all = [answer.headers['set-cookie'] ?? []].flat();
  const [of_devices, others] = [true, false].map((wanted) =>
    all.filter((one) => /^(__Host-)?sluice_device=/.test(one) === wanted),
  );
  assert.ok(others!.length <= 1 && of_devices!.length <= others!.length, 'several cookies');
  return others![0];
}

/** Returns the code that an app with this seed shows at the instant, some steps later. */
export function codeOf(secret: string, now_ms: number, steps = 0): string {
  return new TOTP({ secret }).generate({ timestamp: now_ms + steps * 30_000 });
}

/**
 * Sets up a second factor through the API; returns the seed and the recovery codes. It uses up the
 * code of the current step.
 */
export async function setUpSecondFactor(
  harness: Harness,
  browser: TestBrowser,
): Promise<{ secret: string; recovery_codes: string[] }> {
  const begun = await browser.ask('POST', '/api/users/@me/totp/', { current_password: password });
  assert.equal(begun.status, 200, begun.text);
  const { secret } = begun.body;
  const confirmed = await browser.ask('POST', '/api/users/@me/totp/confirm/', {
    code: codeOf(secret, harness.deps.clock.now()),
  });
  assert.equal(confirmed.status, 200, confirmed.text);
  return { secret, recovery_codes: confirmed.body.recovery_codes };
}

/** Returns the log's activities about a person's own objects, oldest first. */
export async function activitiesOf({ deps }: Harness, user: { uuid: string }): Promise<string[]> {
  const rows = await deps.db.rows<{ activity: string; scope: string }>(
    sql`SELECT activity, scope FROM activity WHERE chain_id = ${user.uuid}::uuid ORDER BY number`,
  );
  return rows.map(({ activity, scope }) => `${scope} ${activity}`);
}

/** Forgets all failed attempts, so that one test's failures do not slow the next. */
export async function forgetAllAttempts({ deps }: Harness): Promise<void> {
  await deps.db.run(sql`DELETE FROM attempts`);
}

/** Returns the user's current row. */
export async function userNow({ deps }: Harness, email: string): Promise<UserRow> {
  const user = await findUserByEmail(deps.db, email);
  assert.ok(user, `there is no ${email}`);
  return user;
}

/**
 * Returns the token in the link of the latest mail to the address with this path, such as
 * `reset-password`. It waits up to 5 seconds for a token that is not among the known ones.
 */
export async function mailedToken(
  server: MailServer,
  address: string,
  path: string,
  known: string[] = [],
): Promise<string> {
  const link = new RegExp(`/${path}/([0-9A-Za-z]{43})$`, 'm');
  return inMail(server, address, ({ content }) => {
    const token = link.exec(content.text ?? '')?.[1];
    return token === undefined || known.includes(token) ? undefined : token;
  });
}

/**
 * Returns the match of `find` in the latest mail to the address that has one; waits for such a
 * mail.
 */
export async function inMail<Found>(
  server: MailServer,
  address: string,
  find: (mail: ReceivedMail) => Found | undefined,
): Promise<Found> {
  return eventually(`no such mail came to ${address}`, () => {
    for (const mail of server.mails.toReversed()) {
      const found = mail.to.includes(address) ? find(mail) : undefined;
      if (found !== undefined) return found;
    }
    return undefined;
  });
}
