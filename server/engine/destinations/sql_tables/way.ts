import type { Socket } from 'node:net';

/** The way to a database: sockets that are not connected yet, and the host to connect them to. */
export type Way = {
  host: string;
  newSocket(): Socket;
  /** Ends a tunnel, and what goes through it. */
  close(): void;
};
