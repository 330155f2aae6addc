import { createHash } from 'node:crypto';
import { once } from 'node:events';
import net from 'node:net';
import ssh2 from 'ssh2';
import type { AuthContext, Connection, ServerChannel } from 'ssh2';
import { newSshKey } from '../factories/ssh_keys.ts';

const { Server, utils } = ssh2;

/** An SSH server for tests, which opens connections for one user. */
export type SshServer = {
  port: number;
  user: string;
  password: string;
  /** Replaces the password; encrypted, as OpenSSH writes it. */
  private_key: string;
  passphrase: string;
  fingerprint: string;
  /** The requested targets, in order. */
  asked: string[];
  /** The tried methods of authentication, in order. */
  tried: string[];
  /** Hosts that it resolves, and the address of each. */
  hosts: Record<string, string>;
  /** The treatment of the next connections: forward, refuse, or break after some bytes. */
  forwards: 'all' | 'none' | { breaks_after: number };
  /** Breaks every connection at once. */
  cut(): void;
  close(): Promise<void>;
};

const passphrase = 'pl4nted-phrase';
const host_key = newSshKey();
const user_key = newSshKey({
  passphrase,
  cipher: 'aes256-ctr',
  rounds: 1,
});

/** Starts one on 127.0.0.1; with `is_asking`, passwords only by keyboard-interactive. */
export async function startSshServer({ is_asking = false } = {}): Promise<SshServer> {
  const parsed = utils.parseKey(host_key.private);
  if (parsed instanceof Error) throw parsed;
  const digest = createHash('sha256').update(parsed.getPublicSSH()).digest('base64');
  const clients = new Set<Connection>();
  const server = new Server({ hostKeys: [host_key.private] }, (client) => {
    clients.add(client);
    // Like sshd; the types lack it.
    (client as unknown as { setNoDelay(on: boolean): void }).setNoDelay(true);
    client.on('close', () => clients.delete(client)).on('error', () => undefined);
    client.on('authentication', (context) => {
      told.tried.push(context.method);
      if (isLetIn(context, told, is_asking)) context.accept();
      else if (context.method === 'keyboard-interactive' && is_asking)
        context.prompt([{ prompt: 'Password: ', echo: false }], ([answer]) =>
          answer === told.password ? context.accept() : context.reject(),
        );
      else context.reject(is_asking ? ['keyboard-interactive'] : ['password', 'publickey']);
    });
    client.on('tcpip', (accept, reject, { destIP, destPort }) => {
      told.asked.push(`${destIP}:${destPort}`);
      if (told.forwards === 'none') return reject();
      const upstream = net.connect(destPort, told.hosts[destIP] ?? destIP);
      upstream.once('error', () => reject());
      upstream.once('connect', () => {
        upstream.removeAllListeners('error');
        join(accept(), upstream, told.forwards, () => client.end());
      });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const told: SshServer = {
    port: (server.address() as net.AddressInfo).port,
    user: 'tunnel',
    password: 'pl4nted-word',
    private_key: user_key.private,
    passphrase,
    fingerprint: `SHA256:${digest.replace(/=+$/, '')}`,
    asked: [],
    tried: [],
    hosts: {},
    forwards: 'all',
    cut: () => {
      for (const client of clients) client.end();
    },
    close: async () => {
      told.cut();
      const closed = once(server, 'close');
      server.close();
      await closed;
    },
  };
  return told;
}

function isLetIn(context: AuthContext, { user, password }: SshServer, is_asking: boolean): boolean {
  if (context.username !== user) return false;
  if (context.method === 'password') return !is_asking && context.password === password;
  if (context.method !== 'publickey') return false;
  const own = utils.parseKey(user_key.public);
  if (own instanceof Error || !own.getPublicSSH().equals(context.key.data)) return false;
  return (
    context.signature === undefined ||
    String(own.verify(context.blob!, context.signature, context.hashAlgo)) === 'true'
  );
}

function join(
  channel: ServerChannel,
  upstream: net.Socket,
  forwards: SshServer['forwards'],
  cut: () => void,
): void {
  let bytes = 0;
  channel.on('data', (piece: Buffer) => {
    bytes += piece.length;
    if (typeof forwards === 'object' && bytes > forwards.breaks_after) cut();
  });
  channel.pipe(upstream).pipe(channel);
  channel.on('close', () => upstream.destroy()).on('error', () => upstream.destroy());
  upstream.on('error', () => channel.close());
}
