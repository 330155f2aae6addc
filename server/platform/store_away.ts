import { setTimeout as pause } from 'node:timers/promises';

// PostgreSQL ends or starts (57P..), or has no connection left (53300); nobody listens, or who did
// has gone.
// A primary that became a standby refuses writes (25006).
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
 * A store is there and cannot be used now: it takes no writes, is an old primary, or does not say
 * that what it did will last.
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
 * True for an error that says that a store is away: it ends or starts, takes no writes or no
 * further connection, or the connection to it broke.
 */
export function isStoreAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof StoreAwayError) return true;
  const { code, syscall } = error as NodeJS.ErrnoException;
  // The socket of an embedded PostgreSQL is a file, which is not there between two of them.
  if (code === 'ENOENT') return syscall === 'connect';
  return typeof code === 'string'
    ? codes.has(code)
    : said.some((text) => error.message.startsWith(text));
}

/**
 * Does the work, and does it again while a store is away, for five seconds: an embedded one is back
 * by then. For what may be done twice and must be done although others have told the store to end
 * too.
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
