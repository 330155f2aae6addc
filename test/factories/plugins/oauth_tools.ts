import assert from 'node:assert/strict';
import { vendor_client } from '../../servers/oauth_vendor.ts';
import type { OauthVendorServer } from '../../servers/oauth_vendor.ts';
import type { Answer, Harness, TestOrganization } from '../../harness.ts';

/** A tool of a project that is connected by OAuth. */
export type OauthTool = {
  /** The address of its config. */
  url: string;
  id: number;
  plugin: number;
  /** Sends a request of the owner in their browser. */
  ask: TestOrganization['ask'];
};

const tool = 'webhook-extensible';

/** Registers the vendor's application for the organization; returns its address. */
export async function registerApplication(
  home: TestOrganization,
  vendor: Pick<OauthVendorServer, 'url'>,
  more: object = {},
): Promise<string> {
  const list = `/api/organizations/${home.organization.id}/oauth_applications/`;
  const registered = await home.ask('POST', list, {
    tool,
    client_id: vendor_client.id,
    client_secret: vendor_client.secret,
    authorize_url: `${vendor.url}/authorize`,
    token_url: `${vendor.url}/token`,
    revoke_url: `${vendor.url}/revoke`,
    scopes: 'events.write',
    ...more,
  });
  assert.equal(registered.status, 201, registered.text);
  return `${list}${registered.body.id}/`;
}

/** Installs the Extensible Webhook of the catalogue; returns its id. */
async function installTool(home: TestOrganization): Promise<number> {
  const collection = `/api/organizations/${home.organization.id}/pipeline_destinations/`;
  const installed = await home.ask('POST', collection, {
    plugin_type: 'repository',
    name: 'Extensible Webhook',
  });
  assert.equal(installed.status, 201, installed.text);
  return installed.body.id;
}

/** Enables the Extensible Webhook; installs it, if no plugin is given. */
export async function oauthTool(
  harness: Harness,
  home: TestOrganization,
  target: string,
  given?: number,
): Promise<OauthTool> {
  const plugin = given ?? (await installTool(home));
  const list = `/api/projects/${home.project.id}/plugin_configs/`;
  const mapping = { url: target, method: 'POST', data: { '@path': '$.' } };
  const subscribe = 'type = "track"';
  const mappings = [{ name: 'Send', partnerAction: 'send', subscribe, mapping }];
  const created = await home.ask('POST', list, {
    plugin,
    enabled: true,
    config: { mappings: JSON.stringify(mappings) },
    allowed_hosts: ['127.0.0.1'],
  });
  assert.equal(created.status, 201, created.text);
  const cookie = await harness.newSession(home.user);
  return {
    url: `${list}${created.body.id}/`,
    id: created.body.id,
    plugin,
    ask: (method, path, body) => harness.request(method, path, { headers: { cookie }, body }),
  };
}

/**
 * Starts to connect the tool and opens the vendor's page; returns the path to which that redirects.
 */
export async function beginConnecting(
  harness: Harness,
  { ask, url }: OauthTool,
  vendor: OauthVendorServer,
): Promise<string> {
  const begun = await ask('POST', `${url}oauth/connect/`);
  assert.equal(begun.status, 200, begun.text);
  const back = vendor.authorize(begun.body.authorize_url);
  const own = harness.deps.config.public_url;
  assert.ok(back.startsWith(`${own}/complete/tool/${tool}/?`), back);
  return back.slice(own.length);
}

/** Connects the tool with an account at the vendor. */
export async function connectTool(
  harness: Harness,
  tool_of: OauthTool,
  vendor: OauthVendorServer,
): Promise<Answer> {
  const path = await beginConnecting(harness, tool_of, vendor);
  const ended = await tool_of.ask('GET', path);
  assert.equal(ended.status, 303, ended.text);
  return ended;
}
