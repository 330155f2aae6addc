import { createHash } from 'node:crypto';
import type { Duplex } from 'node:stream';
import type { Socket } from 'node:net';
import type { Client } from 'ssh2';
import { throwIfStopped, unlessStopped } from '../../../model/destination/stop.ts';
import type { DestinationDeps } from '../../../model/destination/destination.ts';
import type { Way } from '../way.ts';
import { openPrivateKey } from './private_key.ts';
import type { SshAccess } from './ssh_config.ts';
import { cutError, forwardError, hostKeyError, sshError } from './ssh_faults.ts';
import { sshPackage } from './ssh_package.ts';
import { TunnelSocket } from './tunnel_socket.ts';

const ready_timeout_milliseconds = 30_000;
const keepalive_milliseconds = 10_000;
const keepalives_missed_max = 3;

/**
 * Signs in at the SSH server through the outbound guard, and returns the connection from there to
 * `host`, which that server resolves. Guarantees: a server with an unexpected key gets neither user
 * nor password. If the tunnel breaks, every connection through it ends with that error. Aborting
 * the signal ends the opening at once.
 */
export async function openTunnel(
  host: string,
  access: SshAccess,
  outbound: DestinationDeps['outbound'],
  starting: AbortSignal,
): Promise<Way> {
  const { address } = await unlessStopped(resolve(access, outbound), starting);
  const { private_key, passphrase } = access;
  const key =
    private_key && (await unlessStopped(openPrivateKey(private_key, passphrase), starting));
  throwIfStopped(starting);
  const client = new (sshPackage().Client)();
  const sockets = new Set<TunnelSocket>();
  let fault: Error | undefined;
  client.on('error', (error) => (fault ??= sshError(error)));
  client.once('close', () => {
    for (const socket of sockets) socket.destroy(fault ?? cutError());
  });
  try {
    await unlessStopped(signIn(client, address, { ...access, private_key: key }), starting);
  } catch (error) {
    client.destroy();
    throw error;
  }
  const forward = (to: string, port: number) => forwardTo(client, to, port);
  return {
    host,
    newSocket: () => {
      const socket = new TunnelSocket(forward);
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.once('close', () => sockets.delete(socket));
      return socket as unknown as Socket;
    },
    close: () => void client.end(),
  };
}

async function resolve({ host }: SshAccess, outbound: DestinationDeps['outbound']) {
  try {
    return await outbound.resolveHost(host);
  } catch (error) {
    throw (error as NodeJS.ErrnoException).syscall === 'getaddrinfo'
      ? sshError(error as Error)
      : error;
  }
}

/** Rejects with an error that says what to do. */
function signIn(client: Client, address: string, access: SshAccess): Promise<void> {
  const { promise, resolve: signedIn, reject } = Promise.withResolvers<void>();
  let refused: Error | undefined;
  client.once('ready', () => {
    client.setNoDelay(true);
    signedIn();
  });
  client.once('error', (error) => reject(refused ?? sshError(error)));
  client.once('close', () => reject(refused ?? cutError()));
  client.on('keyboard-interactive', (_name, _instructions, _language, prompts, answer) =>
    answer(prompts.length === 1 ? [access.password ?? ''] : []),
  );
  client.connect({
    host: address,
    port: access.port,
    username: access.user,
    ...(access.private_key === undefined ? {} : { privateKey: access.private_key }),
    ...(access.passphrase === undefined ? {} : { passphrase: access.passphrase }),
    ...(access.password === undefined ? {} : { password: access.password, tryKeyboard: true }),
    readyTimeout: ready_timeout_milliseconds,
    keepaliveInterval: keepalive_milliseconds,
    keepaliveCountMax: keepalives_missed_max,
    hostVerifier: (key: Buffer) => {
      const digest = createHash('sha256').update(key).digest('base64');
      const found = `SHA256:${digest.replace(/=+$/, '')}`;
      if (found === access.host_key) return true;
      refused = hostKeyError(found, access.host_key);
      return false;
    },
  });
  return promise;
}

function forwardTo(client: Client, host: string, port: number): Promise<Duplex> {
  return new Promise((resolved, reject) => {
    try {
      client.forwardOut('127.0.0.1', 0, host, port, (error, channel) => {
        if (error === undefined) resolved(channel);
        else reject(forwardError(error));
      });
    } catch (error) {
      // The library throws if the connection is gone.
      reject(cutError(error as Error));
    }
  });
}
