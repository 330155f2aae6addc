import assert from 'node:assert/strict';
import type { Browser } from 'playwright-core';
import { createApiKey } from '../../server/platform/http/caller/api_key.ts';
import { findFreePort } from '../../server/platform/embedded/free_port.ts';
import { startChromium } from '../processes/chromium.ts';
import { serverEnvironment, startServer } from '../processes/server_process.ts';
import { openDnsServer } from '../servers/dns_server.ts';
import type { DnsServer } from '../servers/dns_server.ts';
import { openMailServer } from '../servers/mail_server.ts';
import type { MailServer } from '../servers/mail_server.ts';
import { startKeycloak } from './keycloak_server.ts';
import type { Keycloak } from './keycloak_server.ts';
import { createRealm } from './realm.ts';
import type { Realm } from './realm.ts';

/** Returns the answer to a request of a person or key; fails for another status than expected. */
export type Ask = (
  expected: number,
  method: string,
  path: string,
  body?: unknown,
) => Promise<Record<string, any>>;

/** A server of this checkout, a Keycloak, and the servers around them. */
export type World = {
  /** The server's public URL: another site than Keycloak's, as browsers see it. */
  address: string;
  keycloak: Keycloak;
  /** The realm that the operator has set as the server's OpenID Connect provider. */
  realm: Realm;
  /** A realm that is unknown here. */
  stranger: Realm;
  dns: DnsServer;
  mail: MailServer;
  browser: Browser;
  /** Sends a request with the key of the server's first owner. */
  operator: Ask;
  /** Sends a request without a key or session. */
  anybody: Ask;
  /** Sends a request with these headers; see `asker`. */
  asking(headers: Record<string, string>): Ask;
  /** The reasons of refused sign-ins since the last call. */
  reasons(): string[];
  close(): Promise<void>;
};

/** This server as a client of the realm. */
export const openid_client = { id: 'sluice', secret: 'the secret of an OpenID client' };

/** Starts everything; if a part does not start, it ends the others. */
export async function openWorld(home: string, folder: string): Promise<World> {
  const keycloak_port = await findFreePort();
  const port = await findFreePort();
  const closing: (() => Promise<unknown>)[] = [];
  const opened = async <Part extends { close(): Promise<unknown> }>(part: Promise<Part>) => {
    const open = await part;
    closing.push(() => open.close());
    return open;
  };
  const close = async () => {
    for (const step of closing.splice(0).toReversed()) await step();
  };
  try {
    const dns = await opened(openDnsServer());
    const mail = await opened(openMailServer());
    const key = createApiKey();
    const address = `http://localhost:${port}`;
    const environment = serverEnvironment(folder, key, {
      SLUICE_PORT: String(port),
      SLUICE_PUBLIC_URL: address,
      SLUICE_DNS_SERVERS: dns.address,
      SLUICE_SMTP_URL: mail.url,
      SLUICE_OPENID_ISSUER: `http://127.0.0.1:${keycloak_port}/realms/company`,
      SLUICE_OPENID_CLIENT_ID: openid_client.id,
      SLUICE_OPENID_CLIENT_SECRET: openid_client.secret,
    });
    const server = await startServer(['start'], environment);
    closing.push(() => server.stop());
    const keycloak = await opened(startKeycloak(home, keycloak_port));
    const realm = await createRealm(keycloak, 'company');
    await realm.setOpenidClient({ ...openid_client, redirect_uri: `${address}/complete/openid/` });
    const browser = await opened(startChromium());
    return {
      address,
      keycloak,
      realm,
      stranger: await createRealm(keycloak, 'stranger'),
      dns,
      mail,
      browser,
      operator: asker(address, { authorization: `Bearer ${key}` }),
      anybody: asker(address, {}),
      asking: (headers) => asker(address, headers),
      reasons: reasonsIn(server.output),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Sends requests with these headers, and keeps the replaced cookie of the session. */
export function asker(address: string, { cookie = '', ...headers }: Record<string, string>): Ask {
  let kept = cookie;
  return async (expected, method, path, body) => {
    const answer = await fetch(`${address}${path}`, {
      method,
      headers: {
        ...headers,
        ...(kept === '' ? {} : { cookie: kept }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    assert.equal(answer.status, expected, `${method} ${path}: ${text.slice(0, 500)}`);
    const [set] = answer.headers.getSetCookie();
    if (set !== undefined) kept = set.split(';')[0]!;
    return text === '' ? {} : JSON.parse(text);
  };
}

function reasonsIn(output: () => string): World['reasons'] {
  let read = 0;
  return () => {
    const lines = output().slice(read);
    read += lines.length;
    return [...lines.matchAll(/"reason":"(\w+)"/g)].map(([, reason = '']) => reason);
  };
}
