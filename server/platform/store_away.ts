import { setTimeout as pause } from 'node:timers/promises';

// PostgreSQL ends or starts (57P..); nobody listens, or who did has gone.
const codes = new Set(['57P01', '57P02', '57P03', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE']);
// What `pg` says without a code when its server goes away.
const said = [
  'Connection terminated',
  'Client has encountered a connection error and is not queryable',
  'Client was closed and is not queryable',
];

const outlasted_ms = 5_000;
const again_ms = 50;

/**
 * True for an error that says that a store is away: it ends or starts, or the connection to it
 * broke.
 */
export function isStoreAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
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
