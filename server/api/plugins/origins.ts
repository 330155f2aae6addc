import type { Deps } from '../../deps.ts';
import { openOrigin } from '../../engine/plugins/packages/origins/open_origin.ts';
import type { Origin } from '../../engine/plugins/packages/origins/origin.ts';
import { pluginOriginContext } from './store.ts';
import type { PluginSource } from './schema.ts';
import type { HiddenPlugin } from './store.ts';

/**
 * Opens an origin with the settings of this server, without fetching anything. Throws a PluginError
 * for an invalid address.
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

/** Seals the origin's address for storage; only this plugin's row can open it. */
export function sealSource({ secrets }: Deps, plugin_id: number, source: PluginSource): Buffer {
  return secrets.seal(JSON.stringify(source), pluginOriginContext(plugin_id));
}

/**
 * Returns the origin that a plugin was installed from; undefined for a plugin whose code is written
 * through the API.
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
