import type { Logger } from '../../../../platform/log.ts';
import type { Outbound } from '../../../../platform/outbound/outbound.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { PluginPackage } from '../../plugin.ts';

/**
 * The source of one package's versions. Guarantee of both functions: bounded in time, size and
 * reach. They write nothing. Every fault that a user or the origin can fix is a `PluginError` with
 * a sentence. If the signal aborts, they throw its reason.
 */
export type Origin = {
  kind: 'npm' | 'github' | 'gitlab' | 'archive' | 'local' | 'tool';
  /** The URL without its query and fragment, which may contain tokens. */
  shown_url: string;
  /**
   * Returns the tag of the newest version at the address, null if the origin has none. An address
   * of one exact version always returns this one.
   */
  findLatest(signal: AbortSignal): Promise<string | null>;
  /**
   * Fetches the package of this tag, or the newest one for null; its `tag` names the version.
   * Archives and folders only have one version, whatever tag is requested.
   */
  fetch(tag: string | null, signal: AbortSignal): Promise<PluginPackage>;
};

/**
 * The parts that origins use. Addresses have no trailing slash; the operator's token applies if the
 * package's address has no `private_token`. `download_seconds` bounds each request; default 60.
 */
export type OriginDeps = {
  outbound: Outbound;
  plugin_dir: string;
  npm_registry_url: string;
  github_url: string;
  github_api_url: string;
  gitlab_url: string;
  /** The parts that describe tools of the library; absent without it. */
  tools?: { data_dir: string; sandbox: Pick<Sandbox, 'loadAlone' | 'toolLibrary'> };
  tokens: { npm?: string | undefined; github?: string | undefined; gitlab?: string | undefined };
  log: Logger;
  download_seconds?: number;
};
