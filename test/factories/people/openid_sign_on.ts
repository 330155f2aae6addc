import assert from 'node:assert/strict';
import type { OpenidProvider } from '../../../server/platform/openid_providers.ts';
import { openOutbound } from '../../../server/platform/outbound/outbound.ts';
import { openOpenidProvider, openid_client } from '../../servers/openid_provider.ts';
import type { OpenidTestProvider } from '../../servers/openid_provider.ts';
import { openNavigator, openSingleSignOn } from './single_sign_on.ts';
import type { Navigator } from './single_sign_on.ts';

/** The address of the person that every provider knows. */
export const email = 'ada@acme.example';
/** Their names. */
const names = { given_name: 'Ada', family_name: 'Lovelace' };
/** The person in the words of each provider. */
export const persons: Record<OpenidProvider, OpenidTestProvider['person']> = {
  'google-oauth2': {
    sub: '100',
    claims: { hd: 'acme.example' },
    info: { email, email_verified: true, ...names },
  },
  gitlab: { sub: '200', info: { email, email_verified: true, ...names } },
  openid: { sub: '400', info: { email, email_verified: true, ...names } },
  github: {
    sub: '300',
    info: { name: 'Ada Lovelace' },
    emails: [{ email, primary: true, verified: true }],
  },
};

/** A server whose OpenID providers are all one test provider. */
export type OpenidSignOn = Awaited<ReturnType<typeof openOpenidSignOn>>;

/** Opens a server and its provider; `signIn` does all steps with one browser. */
export async function openOpenidSignOn() {
  const outbound = openOutbound({ allow: ['127.0.0.0/8'] });
  const provider = await openOpenidProvider();
  const { id, secret } = openid_client;
  const world = await openSingleSignOn({
    wall_clock: true,
    deps: { outbound: provider.route(outbound) },
    config: {
      google_client_id: id,
      google_client_secret: secret,
      github_client_id: id,
      github_client_secret: secret,
      gitlab_client_id: id,
      gitlab_client_secret: secret,
      gitlab_url: provider.gitlab_url,
      openid_issuer: provider.openid_issuer,
      openid_client_id: id,
      openid_client_secret: secret,
    },
  });
  /**
   * Returns the path of this server, with code and state, to which the provider redirects the
   * browser.
   */
  async function begin(browser: Navigator, name: OpenidProvider, more = ''): Promise<string> {
    const begun = await browser.go(`/login/${name}/${more}`);
    assert.equal(begun.status, 303, begun.text);
    const back = await provider.visit(begun.headers['location']!);
    const own = world.harness.deps.config.public_url;
    assert.ok(back.startsWith(`${own}/complete/${name}/?`), back);
    return back.slice(own.length);
  }
  return {
    world,
    provider,
    newBrowser: () => openNavigator(world.harness),
    begin,
    signIn: async (browser: Navigator, name: OpenidProvider, more = '') =>
      browser.go(await begin(browser, name, more)),
    close: async () => {
      await world.close();
      await outbound.close();
      await provider.close();
    },
  };
}
