import { setTimeout as pause } from 'node:timers/promises';

// PostgreSQL is stopping or starting (57P..), or has no free connection (53300); nobody listens, or
// the listener is gone. A primary that became a standby refuses writes (25006).
const codes = new Set([
  '25006',
  '53300',
  '57P01',
  '57P02',
  '57P03',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
]);
// Messages of `pg` without a code for a server that goes away.
const said = [
  'Connection terminated',
  'Client has encountered a connection error and is not queryable',
  'Client was closed and is not queryable',
  'timeout exceeded when trying to connect',
];

/**
 * Thrown if a store is reachable but unusable now: it accepts no writes, is an old primary, or does
 * not confirm that its changes will last.
 */
export class StoreAwayError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'StoreAwayError';
  }
}

const outlasted_ms = 5_000;
const again_ms = 50;

/**
 * Returns true for an error of an unavailable store: it is stopping or starting, accepts no writes
 * or connections, or the connection broke.
 */
export function isStoreAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof StoreAwayError) return true;
  const { code, syscall } = error as NodeJS.ErrnoException;
  // The socket of an embedded PostgreSQL is a file, which is missing between two servers.
  if (code === 'ENOENT') return syscall === 'connect';
  return typeof code === 'string'
    ? codes.has(code)
    : said.some((text) => error.message.startsWith(text));
}

/**
 * Does the work, and repeats it while a store is unavailable, for five seconds: an embedded one is
 * back by then. For idempotent work that must be done even while the store is being stopped.
 */
export async function outlast<Result>(work: () => Promise<Result>): Promise<Result> {
  const end = performance.now() + outlasted_ms;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isStoreAway(error) || performance.now() > end) throw error;
      await pause(again_ms);
    }
  }
}
