import type { TestOrganization } from '../../harness.ts';

/**
 * Installs the Webhook of the catalogue and enables it, with one mapping to the address and more
 * fields. Returns the path of the config.
 */
export async function installedWebhook(
  home: TestOrganization,
  url: string,
  fields: Record<string, unknown>,
): Promise<string> {
  const list = `/api/projects/${home.project.id}/plugin_configs/`;
  const post = async (path: string, body: object): Promise<number> => {
    const answer = await home.ask('POST', path, body);
    if (answer.status !== 201) throw new Error(`${path}: ${answer.text}`);
    return answer.body.id;
  };
  const plugin = await post(`/api/organizations/${home.organization.id}/pipeline_destinations/`, {
    plugin_type: 'repository',
    name: 'Webhook',
  });
  const mapping = { url, method: 'POST', data: { '@path': '$.' }, ...fields };
  const mappings = [{ name: 'Send', partnerAction: 'send', subscribe: 'type = "track"', mapping }];
  const id = await post(list, {
    plugin,
    enabled: true,
    config: { sharedSecret: 'hidden-from-all', mappings: JSON.stringify(mappings) },
    allowed_hosts: ['127.0.0.1'],
  });
  return `${list}${id}/`;
}
