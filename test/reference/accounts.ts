import { list_of_passkeys, openPasskeyBrowser, signedInAt } from '../factories/people/passkeys.ts';
import { newAuthenticator } from '../factories/people/authenticator.ts';
import {
  codeOf,
  mailedToken,
  newPerson,
  other_password,
  password,
} from '../factories/people/people.ts';
import { newAssistant } from '../factories/assistants.ts';
import { nameUser, owner_address, public_url, succeeded } from './world.ts';
import type { StoryWorld } from './world.ts';

type Browser = Awaited<ReturnType<typeof signedInAt>>;
/** Like `ask` of the world, in a signed-in browser. */
type Ask = (method: string, path: string, body?: unknown) => Promise<any>;

/** Keys, sessions and the account of a signed-in person, up to its deletion. */
export async function tellAccounts(world: StoryWorld): Promise<void> {
  const { harness, ask, organization } = world;
  await ask('GET', '/api/instance/', undefined, {});
  await ask('GET', '/api/personal_api_keys/@current/');
  await ask('GET', `${organization}personal_api_keys/`);
  const person = await newPerson(harness);
  await nameUser(harness, person.id, 'Margaret', 'margaret@example.com');
  const email = 'margaret@example.com';
  const browser = await signedInAt(harness, { ...person, email });
  const act = askIn(browser);
  await keys(act);
  await sessions(world, act, email);
  await account(world, act);
  await passkeys(world, act);
  await secondFactor(world, act);
  await passwords(world, act, email);
  const current_password = other_password;
  const after = await signedInAt(harness, { ...person, email }, { password: current_password });
  await askIn(after)('DELETE', '/api/users/@me/', { current_password });
  await assistants(world);
}

function askIn(browser: Browser): Ask {
  return async (method, path, body) =>
    succeeded(await browser.ask(method, path, body), `${method} ${path}`);
}

async function keys(act: Ask): Promise<void> {
  const base = '/api/personal_api_keys/';
  const scopes = ['batch_export:read', 'project:read'];
  const { id } = await act('POST', base, { label: 'Dashboards', scopes });
  const one = `${base}${id}/`;
  await act('GET', base);
  await act('GET', one);
  await act('PATCH', one, { label: 'Dashboards of the data team' });
  await act('PUT', one, { label: 'Dashboards', scopes });
  await act('POST', `${one}roll/`, { overlap_seconds: 3600 });
  await act('DELETE', one);
}

/** Gives an assistant access; an administrator sees it and revokes it. */
async function assistants({ harness, home, ask, organization }: StoryWorld): Promise<void> {
  const base = '/api/personal_api_keys/agents/';
  const act = askIn(await signedInAt(harness, { ...home.user, email: owner_address }));
  const redirect_uri = 'https://assistant.example.com/callback';
  const { asked } = await newAssistant(harness, { name: 'Code Helper', redirect_uri });
  await act('POST', `${base}preview/`, asked);
  const scopes = ['batch_export:read', 'project:read'];
  const expires_at = new Date(Date.now() + 30 * 86_400_000).toISOString();
  await act('POST', base, { ...asked, scopes, expires_at });
  const { results } = await ask('GET', `${organization}personal_api_keys/`);
  const granted = results.find(({ agent }: { agent: object | null }) => agent !== null);
  await ask('DELETE', `${organization}personal_api_keys/${granted.id}/`);
}

async function sessions({ harness }: StoryWorld, act: Ask, email: string): Promise<void> {
  await harness.request('POST', '/api/sessions/', { body: { email, password } });
  await act('POST', '/api/sessions/@current/confirm/', { password });
  const { results } = await act('GET', '/api/sessions/');
  const other = results.find(({ is_current }: { is_current: boolean }) => !is_current);
  await act('GET', `/api/sessions/${other.id}/`);
  await act('DELETE', `/api/sessions/${other.id}/`);
  await act('DELETE', '/api/sessions/');
}

async function account({ mail, ask }: StoryWorld, act: Ask): Promise<void> {
  const own = '/api/users/@me/';
  await act('GET', own);
  await act('PATCH', own, { first_name: 'Margaret' });
  await act('PUT', own, { first_name: 'Margaret', last_name: 'Example' });
  await ask('GET', `${own}activity/?limit=2`);
  await ask('GET', `${own}activity/chain/`);
  await act('GET', `${own}security_events/?limit=2`);
  await act('POST', `${own}email/`, { email: 'mh@example.com', current_password: password });
  const known = [await mailedToken(mail, 'mh@example.com', 'verify-email')];
  await act('POST', `${own}verify_email/`);
  const token = await mailedToken(mail, 'mh@example.com', 'verify-email', known);
  await act('POST', '/api/users/verify_email/', { token });
  await act('POST', `${own}email/`, { email: 'margaret@example.com', current_password: password });
  await act('POST', '/api/users/verify_email/', {
    token: await mailedToken(mail, 'margaret@example.com', 'verify-email'),
  });
}

async function passkeys(world: StoryWorld, act: Ask): Promise<void> {
  const { harness } = world;
  const authenticator = newAuthenticator(public_url);
  const begun = await act('POST', `${list_of_passkeys}begin/`, { current_password: password });
  const passkey = authenticator.create(begun);
  const { id } = await act('POST', list_of_passkeys, { name: 'Laptop', passkey });
  const one = `${list_of_passkeys}${id}/`;
  await act('GET', list_of_passkeys);
  await act('GET', one);
  await act('PATCH', one, { name: 'Work laptop' });
  await act('PUT', one, { name: 'Laptop' });
  const browser = openPasskeyBrowser(harness);
  const shown = authenticator.show(await browser.options());
  succeeded(await browser.ask('POST', '/api/sessions/passkey/', { passkey: shown }), 'passkey');
  const options = await act('POST', '/api/sessions/passkey/begin/');
  const own = { current_password: password, passkey: authenticator.show(options) };
  await act('DELETE', one, own);
}

async function secondFactor({ harness }: StoryWorld, act: Ask): Promise<void> {
  const base = '/api/users/@me/totp/';
  const { secret } = await act('POST', base, { current_password: password });
  const code = (steps: number) => codeOf(secret, harness.deps.clock.now(), steps);
  await act('POST', `${base}confirm/`, { code: code(0) });
  const { recovery_codes } = await act('POST', '/api/users/@me/recovery_codes/', {
    current_password: password,
    code: code(1),
  });
  await act('DELETE', base, { current_password: password, code: recovery_codes[0] });
}

async function passwords({ harness, mail }: StoryWorld, act: Ask, email: string): Promise<void> {
  const change = { current_password: password, new_password: 'harbour candle thimble oak' };
  await act('POST', '/api/users/@me/password/', change);
  await act('POST', '/api/users/@me/reset_password/');
  const known = [await mailedToken(mail, email, 'reset-password')];
  const asked = await harness.request('POST', '/api/users/reset_password/', { body: { email } });
  succeeded(asked, 'reset_password');
  const token = await mailedToken(mail, email, 'reset-password', known);
  const path = '/api/users/reset_password/confirm/';
  const body = { token, password: other_password };
  succeeded(await harness.request('POST', path, { body }), path);
}
