import { Socket } from 'node:net';
import { unlessStopped } from '../../model/destination/stop.ts';
import type { DestinationDeps } from '../../model/destination/destination.ts';
import { openTunnel } from './ssh/ssh_tunnel.ts';
import type { Way } from './way.ts';
import type { SshAccess } from './ssh/ssh_config.ts';

/**
 * Opens the connection to a host through the outbound guard: directly to the checked address, or by
 * a tunnel. For a tunnel, the SSH server's address is checked, and that server resolves the host.
 * Aborting the signal ends the opening at once.
 */
export async function openWay(
  host: string,
  ssh: SshAccess | undefined,
  outbound: DestinationDeps['outbound'],
  starting: AbortSignal,
): Promise<Way> {
  if (ssh !== undefined) return openTunnel(host, ssh, outbound, starting);
  const { address } = await unlessStopped(outbound.resolveHost(host), starting);
  return { host: address, newSocket: () => new Socket(), close: () => undefined };
}
