import type { Page } from 'playwright-core';
import { realm_password } from './realm.ts';
import type { Realm, RealmPerson } from './realm.ts';
import { asker } from './world.ts';
import type { Ask, World } from './world.ts';

/** The place that a browser reached. */
export type Visit = {
  /** `account`: signed in here. `refused`: our page refuses. `keycloak`: Keycloak refuses. */
  end: 'account' | 'refused' | 'page' | 'keycloak';
  /** The last page. */
  text: string;
  /** Sends a request with the cookies of the browser. */
  ask: Ask;
};

/** The end of a sign-in; its answer names the signed-in person. */
const account = '/api/users/@me/';
const refused_title = 'You are not signed in';
/** Keycloak's page for a person or request that it refuses. */
const refusal_of_keycloak = '.pf-m-danger, #input-error, #kc-error-message';

/**
 * Does all steps of a sign-in with a new Chromium: to `path` here, through the login page of
 * Keycloak, and back. `alter` changes the address that the browser is sent to, as the browser's
 * user could.
 */
export async function visit(
  world: World,
  path: string,
  username: string,
  alter: (url: string) => string = (url) => url,
): Promise<Visit> {
  const context = await world.browser.newContext();
  try {
    const page = await context.newPage();
    const begin = await context.request.get(`${world.address}${path}`, { maxRedirects: 0 });
    const location = begin.headers()['location'];
    if (location === undefined)
      return { end: 'refused', text: await begin.text(), ask: asker(world.address, {}) };
    await page.goto(alter(location));
    await signInAtKeycloak(world, page, username);
    const text = await page.locator('body').innerText();
    const cookies = await context.cookies(world.address);
    const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
    return { end: endOf(world, page, text), text, ask: asker(world.address, { cookie }) };
  } finally {
    await context.close();
  }
}

async function signInAtKeycloak(world: World, page: Page, username: string): Promise<void> {
  const back = page.waitForURL((url) => url.href.startsWith(world.address));
  const ended = Promise.race([back, page.waitForSelector(refusal_of_keycloak)]);
  ended.catch(() => undefined);
  back.catch(() => undefined);
  if ((await page.locator('#kc-form-login').count()) > 0) {
    await page.locator('#username').fill(username);
    await page.locator('#password').fill(realm_password);
    await page.locator('#kc-login').click();
  }
  await ended;
}

function endOf({ address }: World, page: Page, text: string): Visit['end'] {
  if (!page.url().startsWith(address)) return 'keycloak';
  if (text.includes(refused_title)) return 'refused';
  return new URL(page.url()).pathname === account ? 'account' : 'page';
}

/** A whole SAML sign-in of the address. */
export function visitBySaml(
  world: World,
  email: string,
  alter?: (url: string) => string,
): Promise<Visit> {
  const query = new URLSearchParams({ email, next: account }).toString();
  return visit(world, `/login/saml/?${query}`, usernameOf(email), alter);
}

/** Does a whole OpenID Connect sign-in of the person. */
export function visitByOpenid(world: World, email: string): Promise<Visit> {
  const query = new URLSearchParams({ email, next: account }).toString();
  return visit(world, `/login/openid/?${query}`, usernameOf(email));
}

/** Returns Keycloak's id of the person with this address. */
export function usernameOf(email: string): string {
  return email.replace('@', '.');
}

/** Adds a person with this address to a realm; returns their id there. */
export function addPerson(
  { realm }: { realm: Realm },
  email: string,
  fields: Partial<RealmPerson> = {},
): Promise<string> {
  return realm.addPerson({ username: usernameOf(email), email, ...fields });
}
