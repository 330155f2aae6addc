import assert from 'node:assert/strict';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import type { Browser, Page } from 'playwright-core';
import { openClickHouse } from '../../../server/platform/clickhouse/client.ts';
import { openEmbeddedClickHouse } from '../../../server/platform/embedded/clickhouse/clickhouse.ts';
import { findFreePort } from '../../../server/platform/embedded/free_port.ts';
import { openEmbeddedPostgres } from '../../../server/platform/embedded/postgres/postgres.ts';
import { createApiKey } from '../../../server/platform/http/caller/api_key.ts';
import { silentLog } from '../../../server/platform/log.ts';
import { openDatabase } from '../../../server/platform/postgres/database.ts';
import type { Database } from '../../../server/platform/postgres/database.ts';
import { startChromium } from '../../processes/chromium.ts';
import { serverEnvironment, startServer } from '../../processes/server_process.ts';
import type { ServerProcess } from '../../processes/server_process.ts';
import { startKeycloak } from '../keycloak_server.ts';
import { createRealm, realm_password } from '../realm.ts';
import { asker } from '../world.ts';
import type { Ask } from '../world.ts';
import { openIntrospection, openReceiver } from './receiver.ts';
import type { Introspect, Receiver } from './receiver.ts';
import { openTokenDoor } from './token_door.ts';
import type { TokenDoor } from './token_door.ts';

/** A server with a worker, a Keycloak as the vendor of a tool, and a browser. */
export type ToolWorld = {
  db: Database;
  database_url: string;
  secret_key: string;
  ask: Ask;
  door: TokenDoor;
  receiver: Receiver;
  introspect: Introspect;
  /** The config of the tool. */
  config_id: number;
  /** The path of the config in the API. */
  config: string;
  /** The page of the tool in the console, with its owner signed in. */
  page: Page;
  worker: ServerProcess;
  startWorker(): Promise<void>;
  /** Sends events to the project. */
  send(count: number): Promise<void>;
  /** The uuids of all events of the project. */
  stored(): Promise<string[]>;
  close(): Promise<void>;
};

const client = { id: 'sluice-tool', secret: 'the secret of the application of a tool' };
const secret_key = 'a secret that only this campaign has';
const password = 'correct horse battery staple';
const wait_ms = 120_000;
const person = { username: 'ada', email: 'ada@vendor.example' };

/** Starts everything; if a part does not start, it ends the others. */
export async function openToolWorld(home: string, folder: string): Promise<ToolWorld> {
  const closing: (() => Promise<unknown>)[] = [];
  const keep = async <Part>(part: Promise<Part>, close: (part: Part) => Promise<unknown>) => {
    const open = await part;
    closing.push(() => close(open));
    return open;
  };
  const close = async () => {
    for (const step of closing.splice(0).toReversed()) await step();
  };
  try {
    return { ...(await openParts(home, folder, keep)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

type Keep = <Part>(part: Promise<Part>, close: (part: Part) => Promise<unknown>) => Promise<Part>;

async function openParts(
  home: string,
  folder: string,
  keep: Keep,
): Promise<Omit<ToolWorld, 'close'>> {
  const stores = await openStores(folder, keep);
  const port = await findFreePort();
  const address = `http://localhost:${port}`;
  const key = createApiKey();
  const environment = serverEnvironment(folder, key, {
    SLUICE_DATABASE_URL: stores.database_url,
    SLUICE_CLICKHOUSE_URL: stores.clickhouse_url,
    SLUICE_SECRET_KEY: secret_key,
    SLUICE_PORT: String(port),
    SLUICE_PUBLIC_URL: address,
    SLUICE_OWNER_PASSWORD: password,
  });
  await keep(startServer(['api'], environment), (part) => part.stop());
  const vendor = await openVendor(home, keep, `${address}/complete/tool/webhook-extensible/`);
  const ask = asker(address, { authorization: `Bearer ${key}` });
  const tool = await installTool(ask, vendor);
  const browser = await keep(startChromium(), (part) => part.close());
  const page = await openPage(ask, browser, `${address}${tool.page}`, address);
  const startWorker = () =>
    keep(startServer(['worker'], { ...environment, SLUICE_PORT: '0' }), (part) => part.stop());
  const world: Omit<ToolWorld, 'close'> = {
    ...vendor,
    ...tool,
    ...stores,
    secret_key,
    ask,
    page,
    worker: await startWorker(),
    startWorker: async () => {
      world.worker = await startWorker();
    },
    send: async (count) => {
      const events = Array.from({ length: count }, (_, at) => ({
        event: 'Order completed',
        distinct_id: `person-${at}`,
      }));
      await ask(200, 'POST', '/api/projects/@current/events/', { events });
    },
  };
  return world;
}

/** Both stores of the server, and connections to them. */
async function openStores(folder: string, keep: Keep) {
  const log = silentLog();
  const postgres = await keep(
    openEmbeddedPostgres({ folder: join(folder, 'postgres'), log }),
    (part) => part.stop(),
  );
  const analytics = await keep(
    openEmbeddedClickHouse({ folder: join(folder, 'clickhouse'), log }),
    (part) => part.stop(),
  );
  const application = 'sluice-campaign';
  const db = openDatabase(postgres.url, { connections_max: 4, application_name: application });
  await keep(Promise.resolve(db), (part) => part.close());
  const clickhouse = openClickHouse(analytics.url, { application });
  await keep(Promise.resolve(clickhouse), (part) => part.close());
  return {
    db,
    database_url: postgres.url,
    clickhouse_url: analytics.url,
    stored: async () => {
      const rows = await clickhouse.rows<{ uuid: string }>({ query: 'SELECT uuid FROM events' });
      return rows.map(({ uuid }) => uuid);
    },
  };
}

/** Creates a realm whose refresh tokens work once, with a person who has an account there. */
async function openVendor(home: string, keep: Keep, redirect_uri: string) {
  const keycloak = await keep(startKeycloak(home, await findFreePort()), (part) => part.close());
  const realm = await createRealm(keycloak, 'vendor');
  await keycloak.admin('PUT', '/realms/vendor', {
    realm: 'vendor',
    revokeRefreshToken: true,
    refreshTokenMaxReuse: 0,
  });
  await realm.setOpenidClient({ ...client, redirect_uri });
  // Keycloak only introspects tokens that are meant for the client.
  const [{ id }] = await keycloak.admin('GET', `/realms/vendor/clients?clientId=${client.id}`);
  await keycloak.admin('POST', `/realms/vendor/clients/${id}/protocol-mappers/models`, {
    name: 'audience',
    protocol: 'openid-connect',
    protocolMapper: 'oidc-audience-mapper',
    config: { 'included.client.audience': client.id, 'access.token.claim': 'true' },
  });
  await realm.addPerson(person);
  const path = `${realm.issuer}/protocol/openid-connect`;
  const introspect = openIntrospection(realm.issuer, client);
  return {
    path,
    introspect,
    door: await keep(openTokenDoor(`${path}/token`), (part) => part.close()),
    receiver: await keep(openReceiver(introspect), (part) => part.close()),
  };
}

/** Registers the application, and enables the tool, which is not connected yet. */
async function installTool(
  ask: Ask,
  { path, door, receiver }: Pick<ToolWorld, 'door' | 'receiver'> & { path: string },
) {
  const organization = '/api/organizations/@current/';
  await ask(201, 'POST', `${organization}oauth_applications/`, {
    tool: 'webhook-extensible',
    client_id: client.id,
    client_secret: client.secret,
    authorize_url: `${path}/auth`,
    token_url: door.url,
    revoke_url: `${path}/revoke`,
    scopes: 'offline_access',
  });
  const plugin = await ask(201, 'POST', `${organization}pipeline_destinations/`, {
    plugin_type: 'repository',
    name: 'Extensible Webhook',
  });
  const mapping = { url: receiver.url, method: 'POST', data: { '@path': '$.' } };
  const subscribe = 'type = "track"';
  const mappings = [{ name: 'Send', partnerAction: 'send', subscribe, mapping }];
  const created = await ask(201, 'POST', '/api/projects/@current/plugin_configs/', {
    plugin: plugin['id'],
    enabled: true,
    config: { mappings: JSON.stringify(mappings) },
    allowed_hosts: ['127.0.0.1'],
  });
  return {
    config_id: created['id'] as number,
    config: `/api/projects/${created['team_id']}/plugin_configs/${created['id']}/`,
    page: `/projects/${created['team_id']}/plugins/pipeline_destinations/${plugin['id']}`,
  };
}

async function openPage(ask: Ask, browser: Browser, url: string, address: string): Promise<Page> {
  const context = await browser.newContext();
  const { email } = await ask(200, 'GET', '/api/users/@me/');
  const session = await context.request.post(`${address}/api/sessions/`, {
    data: { email, password },
  });
  assert.equal(session.status(), 201, await session.text());
  const page = await context.newPage();
  await page.goto(url);
  return page;
}

/** Connects the tool in the browser: its page, Keycloak's login if it asks, and back. */
export async function connectInBrowser(page: Page): Promise<void> {
  const section = page.getByRole('region', { name: 'Connection' });
  const connected = section.locator('.good', { hasText: 'Connected' });
  const login = page.locator('#kc-form-login');
  await section.getByRole('button', { name: /^Connect (account|again)$/ }).click();
  await connected.or(login).first().waitFor({ timeout: wait_ms });
  if ((await login.count()) > 0) {
    await page.locator('#username').fill(person.username);
    await page.locator('#password').fill(realm_password);
    await page.locator('#kc-login').click();
  }
  await connected.waitFor({ timeout: wait_ms });
}

/** Makes the tokens of the tool due, and the worker check it again. */
export async function makeDue({ db, config_id }: ToolWorld): Promise<void> {
  await db.run(sql`UPDATE plugin_oauth_connections SET refresh_at = now()
    WHERE plugin_config_id = ${config_id}`);
  await db.run(sql`UPDATE plugin_configs SET updated_at = now() WHERE id = ${config_id}`);
}
