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
  /** The way of events to it; undefined: it gets none. */
  tool: LoadedTool | undefined;
  /** Does the plugin need this host? See `openNeededHosts`. */
  needsHost(hostname: string): boolean;
  /**
   * Calls a method of the plugin. `key` names the call and is the same when it is tried again;
   * `about` are the stored events that it is about: see `captureEvent`; `noted` takes what the call
   * fetches. Throws what the sandbox throws, and a HostNeededError when the call failed while a
   * host that the plugin needs was refused to it.
   */
  call(
    key: string,
    method: string,
    payload: unknown,
    signal: AbortSignal,
    about?: PluginEvent[],
    noted?: NotedFetches,
  ): Promise<unknown>;
  /** Stores what the plugin counted. Never rejects. */
  saveMetrics(): Promise<void>;
  close(): Promise<void>;
};
