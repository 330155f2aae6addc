import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { openClickHouse } from '../../server/platform/clickhouse/client.ts';
import type { ClickHouse } from '../../server/platform/clickhouse/client.ts';
import { openEmbeddedClickHouse } from '../../server/platform/embedded/clickhouse/clickhouse.ts';
import { findFreePort } from '../../server/platform/embedded/free_port.ts';
import { openEmbeddedPostgres } from '../../server/platform/embedded/postgres/postgres.ts';
import { createApiKey } from '../../server/platform/http/caller/api_key.ts';
import { silentLog } from '../../server/platform/log.ts';
import { keepRunning } from '../chaos/kept_process.ts';
import { openRandom } from '../chaos/random.ts';
import { call, serverEnvironment, startServer, until } from '../processes/server_process.ts';
import { sending_clients } from './sending_clients.ts';
import type { SendingClient } from './sending_clients.ts';

const victims = ['server', 'PostgreSQL', 'ClickHouse'] as const;

/** The fate of the events of one client. */
export type ClientOutcome = {
  /** Events that the client reported as delivered, and events that it gave up. */
  believed: number;
  given_up: number;
  /** Events that it believed delivered: not stored, and stored more than once. */
  lost: string[];
  doubled: string[];
};
/** The settings of a campaign. `say` gets a line for each kill. */
export type Campaign = {
  folder: string;
  kills: number;
  seed: number;
  /** Ends it early; it then compares the events sent so far. */
  signal?: AbortSignal;
  say: (line: string) => void;
};

const up_ms_max = 120_000;
const [sending_ms_min, sending_ms_max] = [500, 3_000];
/** The number of senders of each client, since most wait for seconds after a failure. */
const senders_each = 4;

/**
 * Kills server, PostgreSQL and ClickHouse with -9, one at a time and at random, while several
 * instances of each client send one event after another. Then it compares what the clients believe
 * with what is stored.
 */
export async function runKills(campaign: Campaign): Promise<Record<string, ClientOutcome>> {
  const closing: (() => Promise<unknown>)[] = [];
  try {
    return await killWhileSending(campaign, closing);
  } finally {
    for (const close of closing.toReversed()) await close();
  }
}

async function killWhileSending(
  { kills, seed, say, signal, ...campaign }: Campaign,
  closing: (() => Promise<unknown>)[],
): Promise<Record<string, ClientOutcome>> {
  const deployment = await openDeployment(campaign.folder, closing);
  const stop = new AbortController();
  const sending = sending_clients.map((client) => ({
    name: client.name,
    done: Promise.all(
      Array.from({ length: senders_each }, () => keepSending(client, deployment, stop.signal)),
    ),
  }));
  const random = openRandom(seed, 1);
  const killed = new Map<string, number>();
  for (let kill = 1; kill <= kills && signal?.aborted !== true; kill += 1) {
    await new Promise((resume) =>
      setTimeout(resume, random.between(sending_ms_min, sending_ms_max)),
    );
    const victim = random.one(victims);
    const pid = deployment.pidOf(victim);
    if (pid === undefined) {
      kill -= 1;
      continue;
    }
    process.kill(pid, 'SIGKILL');
    killed.set(victim, (killed.get(victim) ?? 0) + 1);
    const began = performance.now();
    await until('the end of what was killed', up_ms_max, 5, async () =>
      deployment.pidOf(victim) === pid ? undefined : true,
    );
    await deployment.up();
    say(`kill ${kill}: ${victim}, up again after ${Math.round(performance.now() - began)} ms`);
  }
  say(`killed: ${[...killed].map(([victim, times]) => `${victim} ${times} times`).join(', ')}`);
  stop.abort();
  const sent = await Promise.all(sending.map(({ done }) => done));
  await deployment.up();
  const stored = await storedTexts(deployment.clickhouse);
  return Object.fromEntries(
    sending.map(({ name }, index) => {
      const believed = sent[index]!.flatMap((one) => one.believed);
      const given_up = sent[index]!.flatMap((one) => one.given_up);
      const times = (text: string) => stored.get(text) ?? 0;
      return [
        name,
        {
          believed: believed.length,
          given_up: given_up.length,
          lost: believed.filter((text) => times(text) === 0),
          doubled: [...believed, ...given_up].filter((text) => times(text) > 1),
        },
      ];
    }),
  );
}

type Deployment = {
  address: string;
  write_key: string;
  clickhouse: ClickHouse;
  pidOf(victim: (typeof victims)[number]): number | undefined;
  up(): Promise<void>;
};

/** The server and both of its stores, each a process that restarts. */
async function openDeployment(
  folder: string,
  closing: (() => Promise<unknown>)[],
): Promise<Deployment> {
  const log = silentLog();
  const postgres = await openEmbeddedPostgres({ folder: join(folder, 'postgres'), log });
  closing.push(() => postgres.stop());
  const analytics = await openEmbeddedClickHouse({ folder: join(folder, 'clickhouse'), log });
  closing.push(() => analytics.stop());
  const port = await findFreePort();
  const key = createApiKey();
  const environment = serverEnvironment(folder, key, {
    SLUICE_DATABASE_URL: postgres.url,
    SLUICE_CLICKHOUSE_URL: analytics.url,
    SLUICE_SECRET_KEY: 'a secret that only this campaign has',
    SLUICE_PORT: String(port),
  });
  const server = await keepRunning(async () => (await startServer(['api'], environment)).child);
  closing.push(() => server.stop());
  const address = `http://127.0.0.1:${port}`;
  const { body } = await call(address, key, 'GET', '/api/projects/@current/');
  const clickhouse = openClickHouse(analytics.url, { application: 'campaign' });
  closing.push(() => clickhouse.close());
  return {
    address,
    write_key: String(body['api_token']),
    clickhouse,
    pidOf: (victim) =>
      ({ server: server.pid(), PostgreSQL: postgres.pid, ClickHouse: analytics.pid })[victim],
    up: async () => {
      await until('everything to be up again', up_ms_max, 50, async () => {
        const pids = [server.pid(), postgres.pid, analytics.pid];
        const ready = pids.includes(undefined)
          ? undefined
          : await call(address, key, 'GET', '/readyz').catch(() => undefined);
        return ready?.status === 200 ? true : undefined;
      });
    },
  };
}

async function keepSending(
  client: SendingClient,
  { address, write_key }: Deployment,
  signal: AbortSignal,
): Promise<{ believed: string[]; given_up: string[] }> {
  const believed: string[] = [];
  const given_up: string[] = [];
  const sendOne = client.open(address, write_key);
  while (!signal.aborted) {
    const sent = randomUUID();
    ((await sendOne(sent)) ? believed : given_up).push(sent);
  }
  return { believed, given_up };
}

async function storedTexts(clickhouse: ClickHouse): Promise<Map<string, number>> {
  const rows = await clickhouse.rows<{ sent: string; times: number }>({
    query:
      "SELECT JSONExtractString(properties, 'sent') AS sent, toUInt32(count()) AS times " +
      'FROM events GROUP BY sent',
  });
  return new Map(rows.map(({ sent, times }) => [sent, times]));
}
