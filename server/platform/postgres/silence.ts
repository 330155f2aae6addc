import type pg from 'pg';
import { cutOff } from './session.ts';

/** After how many looks at a session that waits and hears nothing it is silent. */
const looks = 5;

/** Signs of life of a session: bytes read, and looks without any since. */
type Heard = { bytes: number; looks: number };

/**
 * Cuts sessions that wait for an answer while their server, asked by `answers`, answers nobody: it
 * is paused, or gone without a word. A long wait for a server that answers continues. Looks at
 * `sessions` only, so that a session is silent after `silence_ms` that this process has seen.
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

/** Counts the looks without new bytes since the session began to wait. */
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
