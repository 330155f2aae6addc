import assert from 'node:assert/strict';
import { findApplication } from '../../../server/engine/plugins/oauth/application.ts';
import { storeConnection } from '../../../server/engine/plugins/oauth/connection.ts';
import { findVendor } from '../../../server/engine/plugins/oauth/vendors.ts';
import type { Harness, TestOrganization } from '../../harness.ts';

/** Registers an application at HubSpot, and connects a config with a token. */
export async function connectHubspot(
  { deps: { db, secrets } }: Harness,
  home: TestOrganization,
  config_id: number,
  access_token: string,
): Promise<void> {
  const list = `/api/organizations/${home.organization.id}/oauth_applications/`;
  const registered = await home.ask('POST', list, {
    tool: 'hubspot',
    client_id: 'acme',
    client_secret: 'secret-of-acme',
    authorize_url: 'https://app.hubspot.com/oauth/authorize',
    token_url: 'https://api.hubapi.com/oauth/v1/token',
    scopes: '',
  });
  assert.equal(registered.status, 201, registered.text);
  await storeConnection(db, secrets, {
    config_id,
    application: (await findApplication(db, secrets, config_id, 'hubspot'))!,
    vendor: findVendor('hubspot')!,
    issued: {
      access_token,
      refresh_token: 'first',
      expires_in: undefined,
      scopes: undefined,
      fields: {},
    },
    connected_by: home.user.id,
  });
}
