import net from 'node:net';
import tls from 'node:tls';
import { certificate, certificate_key } from '../certificate.ts';
import { endTogether, listenLocally } from '../loopback.ts';
import { openCommitFaults } from './commit_faults.ts';
import type { CommitFaults } from './commit_faults.ts';

/** An error of PostgreSQL's protocol, as the server sends it. */
export type PostgresRefusal = { severity: string; code: string; message: string };

/**
 * A TCP proxy of a PostgreSQL that listens on a Unix socket only, with TLS or without, whose
 * connections can be cut.
 */
export type PostgresProxy = {
  port: number;
  /** Ends all connections at once, like a broken network. */
  cut(): void;
  /** Stops all answers of the server from now on, as if it hung; requests still reach it. */
  hold(): void;
  commits: CommitFaults<PostgresRefusal>;
  close(): Promise<void>;
};

const ssl_request = 80_877_103;

/** Opens the proxy on 127.0.0.1 in front of the server's Unix socket. */
export async function openPostgresProxy(
  socketPath: string,
  options: { tls: boolean },
): Promise<PostgresProxy> {
  const held = new AbortController();
  const commits = postgresCommits();
  const server = net.createServer((client) => {
    client.on('error', () => client.destroy());
    if (commits.isAway()) return client.destroy();
    const door = { socketPath, held: held.signal, commits };
    client.once('data', (first) => {
      const isSslRequest = first.length === 8 && first.readUInt32BE(4) === ssl_request;
      if (!isSslRequest) return join(client, door, first);
      client.write(options.tls ? 'S' : 'N');
      if (!options.tls) return join(client, door);
      const secure = new tls.TLSSocket(client, {
        isServer: true,
        cert: certificate,
        key: certificate_key,
      });
      secure.on('error', () => client.destroy());
      join(secure, door);
    });
  });
  return {
    ...(await listenLocally(server)),
    hold: () => held.abort(),
    commits,
  };
}

type Door = { socketPath: string; held: AbortSignal; commits: CommitFaults<PostgresRefusal> };

function join(client: net.Socket, { socketPath, held, commits }: Door, first?: Buffer): void {
  const upstream = net.connect(socketPath);
  if (first !== undefined) upstream.write(first);
  commits.join(client, upstream);
  // Nobody reads the answers any more.
  const hold = () => upstream.removeAllListeners('data').resume();
  if (held.aborted) hold();
  held.addEventListener('abort', hold);
  endTogether(client, upstream);
}

/** The faults of a COMMIT in PostgreSQL's protocol. */
function postgresCommits(): CommitFaults<PostgresRefusal> {
  const commit = message('Q', 'COMMIT\0');
  return openCommitFaults({
    isCommit: (chunk) => chunk.equals(commit),
    rollback: message('Q', 'ROLLBACK\0'),
    isLast: ({ severity }) => /^(FATAL|PANIC)$/.test(severity),
    error: (refusal) => {
      const { severity, code, message: text } = refusal;
      const error = message('E', `S${severity}\0C${code}\0M${text}\0\0`);
      return Buffer.concat([error, message('Z', 'I')]);
    },
  });
}

function message(type: string, body: string): Buffer {
  const bytes = Buffer.from(`${type}0000${body}`);
  bytes.writeUInt32BE(bytes.length - 1, 1);
  return bytes;
}
