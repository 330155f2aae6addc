import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import sql from 'sql-template-tag';
import type { UserRow } from '../../../server/api/users/store.ts';
import type { Answer, Harness } from '../../harness.ts';
import { newAuthenticator } from './authenticator.ts';
import type { Authenticator } from './authenticator.ts';
import { password } from './people.ts';

/** The path of a person's passkeys. */
export const list_of_passkeys = '/api/users/@me/passkeys/';

/** A browser that keeps all cookies: the person's session, and the id of the browser. */
export type PasskeyBrowser = {
  ask(method: string, path: string, body?: unknown): Promise<Answer>;
  /** The options of `/api/sessions/passkey/begin/`. */
  options(): Promise<any>;
};

/** Opens a browser. */
export function openPasskeyBrowser(harness: Harness): PasskeyBrowser {
  const cookies = new Map<string, string>();
  const ask: PasskeyBrowser['ask'] = async (method, path, body) => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers: Record<string, string> = cookie === '' ? {} : { cookie };
    const answer = await harness.request(method, path, { headers, body });
    for (const set of [answer.headers['set-cookie'] ?? []].flat()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      if (value === '') cookies.delete(name);
      else cookies.set(name, value);
    }
    return answer;
  };
  const options = async () => {
    const answer = await ask('POST', '/api/sessions/passkey/begin/', {});
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  };
  return { ask, options };
}

/** Opens a browser in which the person has just signed in with their password. */
export async function signedInAt(harness: Harness, { email }: UserRow, more: object = {}) {
  const browser = openPasskeyBrowser(harness);
  const answer = await browser.ask('POST', '/api/sessions/', { email, password, ...more });
  assert.equal(answer.status, 201, answer.text);
  return browser;
}

/** The relying party of the harness's server, whose address is `http://127.0.0.1:8000`. */
export const passkey_origin = 'http://localhost:8000';

/**
 * Creates a passkey in the browser; `more` is a code or passkey if the account has a second factor.
 * Returns its authenticator and the answer.
 */
export async function addPasskey(
  browser: PasskeyBrowser,
  more: object = {},
  name = 'Laptop',
): Promise<{ authenticator: Authenticator; created: Record<string, any> }> {
  const authenticator = newAuthenticator(passkey_origin);
  const begun = await browser.ask('POST', `${list_of_passkeys}begin/`, {
    current_password: password,
    ...more,
  });
  assert.equal(begun.status, 200, begun.text);
  const passkey = authenticator.create(begun.body);
  const created = await browser.ask('POST', list_of_passkeys, { name, passkey });
  assert.equal(created.status, 201, created.text);
  return { authenticator, created: created.body };
}

/** Signs in with only the passkey. */
export async function signInByPasskey(
  browser: PasskeyBrowser,
  authenticator: Authenticator,
  bent: Parameters<Authenticator['show']>[1] = {},
): Promise<Answer> {
  const passkey = authenticator.show(await browser.options(), bent);
  return browser.ask('POST', '/api/sessions/passkey/', { passkey });
}

/** Adds a passkey to the person that no authenticator has; returns its id. */
export async function insertPasskey({ deps }: Harness, user: { id: number }): Promise<string> {
  const id = randomUUID();
  await deps.db.run(sql`
    INSERT INTO passkeys (id, user_id, credential_id, public_key, sign_count, transports, aaguid,
      name, is_backup_eligible, is_backed_up, created_at)
    VALUES (${id}::uuid, ${user.id}, ${id}, '', 0, '{}', ${id}::uuid, 'One', false, false, now())`);
  return id;
}
