import type pg from 'pg';
import { cutOff } from './session.ts';

/** Number of checks without new bytes after which a waiting session counts as silent. */
const looks = 5;

/** Signs of life of a session: bytes read, and checks since the last ones. */
type Heard = { bytes: number; looks: number };

/**
 * Cuts sessions that wait for an answer while their server, probed by `answers`, answers nobody: it
 * is paused, or gone without notice. A long wait for a server that answers continues. Only checks
 * `sessions`, so that a session is silent after `silence_ms` of this process's running time.
 */
export function cutSilent(
  sessions: () => Iterable<pg.ClientBase>,
  answers: () => Promise<boolean>,
  silence_ms: number,
): { close(): void } {
  const heard = new WeakMap<pg.ClientBase, Heard>();
  let isAsking = false;
  const look = async () => {
    const silent = [...sessions()].filter((client) => listen(client, heard) >= looks);
    if (silent.length === 0 || isAsking) return;
    isAsking = true;
    const isThere = await answers().finally(() => (isAsking = false));
    for (const client of silent) {
      if (isThere) heard.delete(client);
      else if (listen(client, heard) > looks) cutOff(client);
    }
  };
  const timer = setInterval(() => void look(), silence_ms / looks).unref();
  return { close: () => clearInterval(timer) };
}

/** Counts the checks without new bytes since the session began to wait. */
function listen(client: pg.ClientBase, heard: WeakMap<pg.ClientBase, Heard>): number {
  const { readyForQuery, connection } = client as unknown as {
    readyForQuery: boolean;
    connection: { stream: { bytesRead: number } };
  };
  const bytes = connection.stream.bytesRead;
  const before = heard.get(client);
  const waits = !readyForQuery && before?.bytes === bytes;
  const now = { bytes, looks: waits ? before.looks + 1 : 0 };
  heard.set(client, now);
  return now.looks;
}
