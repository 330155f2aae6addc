import type { Socket } from 'node:net';

/** The connection to a database: unconnected sockets, and the host to connect them to. */
export type Way = {
  host: string;
  newSocket(): Socket;
  /** Ends a tunnel and its connections. */
  close(): void;
};
