import { buildSiteScript, findSiteApps } from '../../engine/plugins/running/site_script.ts';
import type { Running } from '../../engine/plugins/running/running.ts';
import { etagOf } from '../../platform/http/etag.ts';

/** A script as served. */
type KeptScript = { text: string; etag: string };

/** Finds scripts; see `openKeptScripts`. */
type KeptScripts = { find(token: string): Promise<KeptScript | undefined> };

const scripts_max = 100;
const length_max = 32 * 1024 * 1024;

/**
 * Opens a cache of built scripts, at most 32 million characters, which keeps the latest ones. A
 * script is built again only if its apps have changed. An unknown token has no script.
 */
export function openKeptScripts(running: Pick<Running, 'db' | 'secrets'>): KeptScripts {
  const kept = new Map<string, KeptScript & { fingerprint: string }>();
  let length = 0;
  const forget = (token: string): void => {
    length -= kept.get(token)?.text.length ?? 0;
    kept.delete(token);
  };
  return {
    find: async (token) => {
      const found = await findSiteApps(running.db, token);
      const before = kept.get(token);
      if (found === undefined || before?.fingerprint !== found.fingerprint) forget(token);
      if (found === undefined) return undefined;
      if (before?.fingerprint === found.fingerprint) {
        // Reinsert it at the end, because the first entries are removed first.
        kept.delete(token);
        kept.set(token, before);
        return before;
      }
      const text = await buildSiteScript(running, found);
      const script = { text, etag: etagOf(text), fingerprint: found.fingerprint };
      forget(token);
      kept.set(token, script);
      length += text.length;
      for (const oldest of kept.keys())
        if (kept.size > scripts_max || length > length_max) forget(oldest);
      return script;
    },
  };
}
