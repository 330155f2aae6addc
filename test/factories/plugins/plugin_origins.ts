import assert from 'node:assert/strict';
import { pino } from 'pino';
import { PluginError } from '../../../server/engine/plugins/plugin.ts';
import type { OriginDeps } from '../../../server/engine/plugins/packages/origins/origin.ts';
import { openOutbound } from '../../../server/platform/outbound/outbound.ts';
import { openPluginForge } from '../../servers/plugin_forge.ts';
import type { PluginForge } from '../../servers/plugin_forge.ts';
import { openPluginRegistry } from '../../servers/plugin_registry.ts';
import type { PluginRegistry } from '../../servers/plugin_registry.ts';

/** A token that must not appear in any sentence or log line. */
export const origin_secret = 'secret-token-0123456789';

/**
 * A registry and a forge on 127.0.0.1, the dependencies to fetch packages from them, and the
 * written log.
 */
export type OriginWorld = {
  registry: PluginRegistry;
  forge: PluginForge;
  deps: OriginDeps;
  logged(): string;
  close(): Promise<void>;
};

/** Starts an empty one without a folder of local plugins. */
export async function openOriginWorld(): Promise<OriginWorld> {
  const [registry, forge] = await Promise.all([openPluginRegistry(), openPluginForge()]);
  const outbound = openOutbound({ allow: ['127.0.0.0/8', '::1'] });
  let logged = '';
  const log = pino({ level: 'trace' }, { write: (line) => void (logged += line) });
  return {
    registry,
    forge,
    deps: {
      outbound,
      plugin_dir: '/nowhere',
      npm_registry_url: registry.endpoint,
      ...forge.settings,
      tokens: {},
      log,
    },
    logged: () => logged,
    close: async () =>
      void (await Promise.all([registry.close(), forge.close(), outbound.close()])),
  };
}

/**
 * Fails unless a `PluginError` of this code refuses the work, with a matching sentence without the
 * secret.
 */
export async function rejectsAs(
  work: Promise<unknown>,
  code: PluginError['code'],
  reason: RegExp,
): Promise<void> {
  await assert.rejects(work, (error) => {
    assert(error instanceof PluginError, String(error));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, reason);
    assert(!error.message.includes(origin_secret));
    return true;
  });
}
