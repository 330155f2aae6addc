import type pg from 'pg';
import { cutOff } from './session.ts';

/** After how many looks at a session that waits and hears nothing it is silent. */
const looks = 5;

/** What is heard of a session: how much of it was read, and how often since nothing came. */
type Heard = { bytes: number; looks: number };

/**
 * Cuts sessions that wait for an answer while their server, asked by `answers`, gives none to
 * anybody: paused, or gone without a word. Who waits long on a server that is there goes on to
 * wait. Looked at are those of `sessions`, so that one is silent after `silence_ms` that this
 * process has seen.
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

/** How often nothing had come since the session waits. */
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
