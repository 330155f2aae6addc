import { HostNeededError } from './needed_hosts.ts';
import type { PluginLog } from './plugin_log.ts';

const hosts_told_max = 20;

/** Tracks the hosts that are refused during a call. */
export function openRefusals(needsHost: (hostname: string) => boolean, log: PluginLog) {
  const told = new Set<string>();
  let count = 0;
  let last = '';
  return {
    note: (hostname: string): void => {
      if (!told.has(hostname) && told.size < hosts_told_max) {
        told.add(hostname);
        log.write(
          'WARNING',
          `The plugin asked for ${hostname}, which is not among the allowed_hosts of this config.`,
        );
      }
      if (!needsHost(hostname)) return;
      count += 1;
      last = hostname;
    },
    during: async <Result>(work: () => Promise<Result>): Promise<Result> => {
      const before = count;
      try {
        return await work();
      } catch (error) {
        throw count === before ? error : new HostNeededError(last);
      }
    },
  };
}
