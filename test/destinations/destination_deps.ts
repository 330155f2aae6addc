import type { DestinationDeps } from '../../server/engine/model/destination/destination.ts';
import { silentLog } from '../../server/platform/log.ts';
import { openOutbound } from '../../server/platform/outbound/outbound.ts';

/**
 * Returns what the server passes to a destination whose places are on this machine; the caller
 * closes the guard.
 */
export function destinationDeps(
  outbound = openOutbound({ allow: ['127.0.0.0/8', '::1'] }),
): DestinationDeps {
  const { signal } = new AbortController();
  return { log: silentLog(), outbound, export_dir: '/nowhere', signal };
}
