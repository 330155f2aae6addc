import pg from 'pg';
import { StoreAwayError, isStoreAway } from '../store_away.ts';
import {
  choosePrimary,
  judgeEpoch,
  plain_standing_query,
  readStanding,
  standing_query,
} from './epoch.ts';
import type { Epoch, Standing } from './epoch.ts';
import { hostOf, splitHosts } from './hosts.ts';
import { clientsOf, cutOff } from './session.ts';
import { cutSilent } from './silence.ts';

/**
 * The servers of a PostgreSQL URL, and their current primary. Guarantees: a session is only
 * provided on a server that accepts writes, of the first known cluster, and on no earlier timeline
 * than the latest known one. Once a later one is known, all sessions of earlier ones are cut, even
 * those that wait for an answer. Sessions that wait for a server that answers nobody are cut too.
 */
export type Primary = {
  /** The pool's class of clients: a new one connects to the last known primary. */
  Client: typeof pg.Client;
  /** Searches for the primary if it is unknown. Rejects with `StoreAwayError` without one. */
  find(): Promise<void>;
  /** Admits a new session, or rejects. */
  admit(client: pg.ClientBase): Promise<void>;
  /**
   * Judges a failure; returns true if the primary may have changed, so that a search makes sense.
   */
  doubt(error: unknown): boolean;
  /** Returns the latest known epoch; undefined if the server does not report it. */
  epoch(): Epoch | undefined;
  close(): void;
};

/** Time limits for asking a server, and for the others once one has answered. */
const look_ms_max = 3_000;
const admit_ms_max = 10_000;
/** Time without an answer after which a server is probed, and the time limit of the probe. */
const silence_ms_max = 5_000;
const others_ms_max = 300;

/**
 * `watch_ms`: how often the servers are checked while sessions work, so that a session waiting on
 * an old primary is cut. `silence_ms`: time without an answer after which a server is probed, and
 * the time limit of the probe; 5 s by default. `onLater` is called for each later epoch.
 */
export type PrimaryOptions = {
  watch_ms?: number | undefined;
  silence_ms?: number | undefined;
  onLater?: ((before: Epoch, now: Epoch) => void) | undefined;
};

/** Opens the servers of the URL. */
export function openPrimary(url: string, options: PrimaryOptions): Primary {
  const urls = splitHosts(url);
  const sessions = openSessions(options.onLater);
  let present = urls.length === 1 ? urls[0] : undefined;
  let looking: Promise<void> | undefined;
  const lookOnce = async () => {
    const answers = await askAll(urls);
    const index = choosePrimary(answers, sessions.known());
    if (index === -1) return;
    sessions.see(answers[index]!.epoch);
    present = urls[index];
  };
  const look = () => (looking ??= lookOnce().finally(() => (looking = undefined)));
  const { watch_ms, silence_ms = silence_ms_max } = options;
  const watch =
    watch_ms === undefined ? undefined : setInterval(() => void look(), watch_ms).unref();
  const silence = cutSilent(
    sessions.all,
    () => isThere(present ?? urls[0]!, silence_ms),
    silence_ms,
  );
  return {
    Client: clientsOf(() => present ?? urls[0]!),
    find: async () => {
      if (present !== undefined) return;
      await look();
      if (present === undefined) throw nowhere(urls);
    },
    admit: async (client) => {
      // A frozen server that accepted the connection never answers.
      const late = setTimeout(() => cutOff(client), admit_ms_max);
      const standing = await standingOf(client).finally(() => clearTimeout(late));
      sessions.admit(client, standing);
    },
    doubt: (error) => {
      if (urls.length === 1 || !isStoreAway(error)) return false;
      present = undefined;
      return true;
    },
    epoch: sessions.known,
    close: () => {
      clearInterval(watch);
      silence.close();
    },
  };
}

/** The sessions by the epoch of their server, and the latest known epoch of any server. */
function openSessions(onLater: PrimaryOptions['onLater']) {
  const sessions = new Map<pg.ClientBase, Epoch | undefined>();
  let known: Epoch | undefined;
  const see = (found: Epoch | undefined) => {
    const before = known;
    known ??= found;
    if (before === undefined || judgeEpoch(found, before) !== 'later') return;
    known = found!;
    for (const [client, epoch] of sessions)
      if (judgeEpoch(epoch, known) === 'earlier') cutOff(client);
    onLater?.(before, known);
  };
  return {
    see,
    all: () => sessions.keys(),
    known: () => known,
    admit: (client: pg.ClientBase, standing: Standing) => {
      refuse(standing, known);
      see(standing.epoch);
      sessions.set(client, standing.epoch);
      client.once('end', () => sessions.delete(client));
    },
  };
}

/** Returns the URL of the primary alone, for callers that open their own session. */
export async function findPrimaryUrl(url: string): Promise<string> {
  const urls = splitHosts(url);
  if (urls.length === 1) return urls[0]!;
  const index = choosePrimary(await askAll(urls), undefined);
  if (index === -1) throw nowhere(urls);
  return urls[index]!;
}

function nowhere(urls: string[]): StoreAwayError {
  return new StoreAwayError(
    `No PostgreSQL server accepts writes at the moment (${urls.map(hostOf).join(', ')}).`,
  );
}

function refuse({ is_writable, epoch }: Standing, known: Epoch | undefined): void {
  if (!is_writable)
    throw new StoreAwayError('This PostgreSQL accepts no writes: it is a standby or read-only.');
  const judgement = judgeEpoch(epoch, known);
  if (judgement === 'earlier')
    throw new StoreAwayError(
      `This PostgreSQL is an old primary: it is on timeline ${epoch!.timeline}, but timeline ` +
        `${known!.timeline} exists. Shut it down, or make it a standby of the new primary.`,
    );
  if (judgement === 'other')
    throw new StoreAwayError(
      'This is a different PostgreSQL than before: its system identifier is ' +
        `${epoch!.system_identifier} and was ${known!.system_identifier}. Restart Sluice if ` +
        'that is right.',
    );
}

/** Asks each server about itself; undefined for a server that does not answer in time. */
async function askAll(urls: string[]): Promise<(Standing | undefined)[]> {
  const answers: (Standing | undefined)[] = urls.map(() => undefined);
  const asked = urls.map(async (url, index) => {
    answers[index] = await ask(url);
    if (answers[index]?.is_writable !== true) return;
    // The first answer does not end the wait: it may come from an old primary that came back.
    await new Promise((resolve) => setTimeout(resolve, others_ms_max));
    return true;
  });
  await Promise.race([
    Promise.all(asked),
    Promise.any(
      asked.map(async (one) => (await one) ?? Promise.reject(new Error('standby'))),
    ).catch(() => Promise.all(asked)),
  ]);
  return [...answers];
}

function ask(url: string): Promise<Standing | undefined> {
  return lookAt(url, look_ms_max).catch(() => undefined);
}

/** Returns true if anything answers there, even if the server admits no further session. */
function isThere(url: string, ms_max: number): Promise<boolean> {
  return lookAt(url, ms_max).then(
    () => true,
    (error: unknown) => error instanceof pg.DatabaseError,
  );
}

/** Asks the server over a session of its own; rejects if it takes too long. */
async function lookAt(url: string, ms_max: number): Promise<Standing> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'sluice-look',
    connectionTimeoutMillis: ms_max,
  });
  client.on('error', () => {});
  const late = setTimeout(() => cutOff(client), ms_max);
  try {
    await client.connect();
    return await standingOf(client);
  } finally {
    clearTimeout(late);
    client.end().catch(() => undefined);
  }
}

async function standingOf(client: pg.ClientBase): Promise<Standing> {
  type Row = Parameters<typeof readStanding>[0];
  const found = await client.query<Row>(standing_query).catch((error: unknown) => {
    // Codes for unknown or forbidden settings; every other code is a fault.
    const { code = '' } = error as { code?: string };
    if (!/^(0A|42|55)/.test(code)) throw error;
    return client.query<Row>(plain_standing_query);
  });
  return readStanding(found.rows[0]!);
}
