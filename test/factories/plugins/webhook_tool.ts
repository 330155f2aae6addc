import assert from 'node:assert/strict';
import type { TestOrganization } from '../../harness.ts';

/** Settings of the Webhook of the catalogue in a test. */
type WebhookOptions = { mappings?: object[]; allowed_hosts?: string[]; subscribe?: string };

/** Installs the Webhook of the catalogue and enables it; returns the config's address. */
export async function enabledWebhook(
  home: TestOrganization,
  target_url: string,
  { mappings, allowed_hosts = ['127.0.0.1'], subscribe = 'type = "track"' }: WebhookOptions = {},
): Promise<string> {
  const collection = `/api/organizations/${home.organization.id}/pipeline_destinations/`;
  const wanted = { plugin_type: 'repository', name: 'Webhook' };
  const installed = await home.ask('POST', collection, wanted);
  assert.equal(installed.status, 201, installed.text);
  const mapping = { url: target_url, method: 'POST', data: { '@path': '$.' } };
  const list = `/api/projects/${home.project.id}/plugin_configs/`;
  const created = await home.ask('POST', list, {
    plugin: installed.body.id,
    enabled: true,
    config: {
      sharedSecret: 'hidden-from-all',
      mappings: JSON.stringify(
        mappings ?? [{ name: 'Send', partnerAction: 'send', subscribe, mapping }],
      ),
    },
    allowed_hosts,
  });
  assert.equal(created.status, 201, created.text);
  return `${list}${created.body.id}/`;
}
