import net from 'node:net';
import { endTogether, listenLocally } from '../loopback.ts';
import { openCommitFaults } from './commit_faults.ts';
import type { CommitFaults } from './commit_faults.ts';

/** An error of MySQL's protocol, as the server sends it; with `ends` it closes the connection. */
export type MySqlRefusal = { errno: number; sql_state: string; message: string; ends?: true };

/**
 * A TCP proxy of a MySQL server whose connections can be cut; without `tls` it hides that the
 * server offers TLS.
 */
export type MySqlProxy = {
  port: number;
  /** Ends all connections at once, like a broken network. */
  cut(): void;
  /** Stops all answers of the server from now on, as if it hung; requests still reach it. */
  hold(): void;
  /** Lets answers through again, to new connections. */
  release(): void;
  /** The faults of commits on connections without TLS. */
  commits: CommitFaults<MySqlRefusal>;
  close(): Promise<void>;
};

const ssl_capability = 0x0800;

/** Opens the proxy on 127.0.0.1. */
export async function openMySqlProxy(
  serverPort: number,
  options: { tls: boolean },
): Promise<MySqlProxy> {
  let isHeld = false;
  const commits = mySqlCommits();
  const server = net.createServer((client) => {
    if (commits.isAway()) return client.destroy();
    const upstream = net.connect(serverPort, '127.0.0.1');
    let isGreeting = true;
    commits.join(client, upstream, (chunk) => {
      if (isGreeting && !options.tls) hideTls(chunk);
      isGreeting = false;
      return isHeld ? undefined : chunk;
    });
    endTogether(client, upstream);
  });
  return {
    ...(await listenLocally(server)),
    hold: () => (isHeld = true),
    release: () => (isHeld = false),
    commits,
  };
}

/**
 * The greeting: header (4), protocol (1), version and NUL, thread (4), salt (8), filler (1),
 * capabilities (2).
 */
function hideTls(greeting: Buffer): void {
  const at = greeting.indexOf(0, 5) + 1 + 4 + 8 + 1;
  greeting.writeUInt16LE(greeting.readUInt16LE(at) & ~ssl_capability, at);
}

function mySqlCommits(): CommitFaults<MySqlRefusal> {
  const commit = packet(0, Buffer.from('\x03COMMIT'));
  return openCommitFaults({
    isCommit: (chunk) => chunk.equals(commit),
    rollback: packet(0, Buffer.from('\x03ROLLBACK')),
    isLast: ({ ends }) => ends === true,
    error: ({ errno, sql_state, message }) => {
      const body = Buffer.from(`\0\0\0#${sql_state}${message}`);
      body[0] = 0xff;
      body.writeUInt16LE(errno, 1);
      return packet(1, body);
    },
  });
}

/** Header: length (3), number in the exchange (1). */
function packet(number: number, body: Buffer): Buffer {
  const header = Buffer.from([0, 0, 0, number]);
  header.writeUIntLE(body.length, 0, 3);
  return Buffer.concat([header, body]);
}
