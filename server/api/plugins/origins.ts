import type { Deps } from '../../deps.ts';
import { openOrigin } from '../../engine/plugins/packages/origins/open_origin.ts';
import type { Origin } from '../../engine/plugins/packages/origins/origin.ts';
import { pluginOriginContext } from './store.ts';
import type { PluginSource } from './schema.ts';
import type { HiddenPlugin } from './store.ts';

/**
 * Opens an origin with the settings of this server; nothing is fetched yet. Throws a PluginError
 * for an address that is not understood.
 */
export function originOf({ config, outbound, log, sandbox }: Deps, source: PluginSource): Origin {
  const {
    data_dir,
    plugin_dir,
    npm_registry_url,
    npm_token,
    github_url,
    github_api_url,
    github_token,
    gitlab_url,
    gitlab_token,
  } = config;
  return openOrigin(source, {
    outbound,
    log,
    tools: { sandbox, data_dir },
    plugin_dir,
    npm_registry_url,
    github_url,
    github_api_url,
    gitlab_url,
    tokens: { npm: npm_token, github: github_token, gitlab: gitlab_token },
  });
}

/** The origin's address as it is stored; it opens for this plugin's row alone. */
export function sealSource({ secrets }: Deps, plugin_id: number, source: PluginSource): Buffer {
  return secrets.seal(JSON.stringify(source), pluginOriginContext(plugin_id));
}

/**
 * The origin that a plugin was installed from; undefined for one whose code is written through the
 * API.
 */
export function storedOrigin(
  deps: Deps,
  plugin_id: number,
  { origin }: Pick<HiddenPlugin, 'origin'>,
): Origin | undefined {
  return origin === null
    ? undefined
    : originOf(
        deps,
        JSON.parse(deps.secrets.open(origin, pluginOriginContext(plugin_id))) as PluginSource,
      );
}
