import type { Logger } from '../../../../platform/log.ts';
import type { Outbound } from '../../../../platform/outbound/outbound.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { PluginPackage } from '../../plugin.ts';

/**
 * The source of one package's versions. Guarantee of both functions: bounded in time, size and
 * reach, nothing is written anywhere, and every fault that a user or the origin can mend is a
 * `PluginError` with a sentence; if the signal ends they throw its reason.
 */
export type Origin = {
  kind: 'npm' | 'github' | 'gitlab' | 'archive' | 'local' | 'tool';
  /** The address without its query and fragment, where tokens are. */
  shown_url: string;
  /**
   * The tag of the newest version that the address stands for, null when the origin has none. An
   * address of one exact version always gives this one.
   */
  findLatest(signal: AbortSignal): Promise<string | null>;
  /**
   * The package of this tag, or the newest one for null; its `tag` says which it is. Archives and
   * folders have but one version, whatever tag is asked for.
   */
  fetch(tag: string | null, signal: AbortSignal): Promise<PluginPackage>;
};

/**
 * The parts that origins use. Addresses have no slash at the end; the operator's token applies if
 * the package's address has no `private_token`. `download_seconds` bounds each request; default 60.
 */
export type OriginDeps = {
  outbound: Outbound;
  plugin_dir: string;
  npm_registry_url: string;
  github_url: string;
  github_api_url: string;
  gitlab_url: string;
  /** The parts that describe tools of the library; without them there are none. */
  tools?: { data_dir: string; sandbox: Pick<Sandbox, 'loadAlone' | 'toolLibrary'> };
  tokens: { npm?: string | undefined; github?: string | undefined; gitlab?: string | undefined };
  log: Logger;
  download_seconds?: number;
};
