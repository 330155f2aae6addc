import type { Capabilities } from '../plugin.ts';
import type { NotedFetches } from '../sandbox/network/noted_fetches.ts';
import type { LoadedTool } from './loaded_tool.ts';
import type { PluginEvent } from './read_events.ts';

/** A config whose plugin is loaded with its settings as of `fingerprint`. */
export type LoadedConfig = {
  fingerprint: string;
  capabilities: Capabilities;
  config: Record<string, unknown>;
  allowed_hosts: string[];
  /**
   * Number of concurrent calls: several, or one for a plugin that captures events, because a
   * captured event must belong to one call.
   */
  calls_max: number;
  /** Its receiver of events; undefined: it gets none. */
  tool: LoadedTool | undefined;
  /** Returns true if the plugin needs this host. See `openNeededHosts`. */
  needsHost(hostname: string): boolean;
  /**
   * Calls a method of the plugin. `key` names the call and stays the same in a retry; `about` are
   * the stored events that it handles (see `captureEvent`); `noted` records the fetches of the
   * call. Throws the sandbox's errors, and a HostNeededError if the call failed while a needed host
   * was refused.
   */
  call(
    key: string,
    method: string,
    payload: unknown,
    signal: AbortSignal,
    about?: PluginEvent[],
    noted?: NotedFetches,
  ): Promise<unknown>;
  /** Stores the plugin's counts. Never rejects. */
  saveMetrics(): Promise<void>;
  close(): Promise<void>;
};
