import { mkdirSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openRandom } from '../chaos/random.ts';
import { copyTable } from './copy_table.ts';
import { openFront } from './front.ts';
import { firstOpen, forgetReplica, isDoneAt, openEntries, openKeeper } from './keeper.ts';
import { openReplica } from './replica.ts';
import type { Replica } from './replica.ts';
import { joinCluster, replicate } from './replication.ts';
import type { Cluster } from './replication.ts';
import { no_trouble } from './settings.ts';
import type { ClusterSettings } from './settings.ts';
import { listen } from '../servers/loopback.ts';

/** A cluster of embedded engines that misbehaves as configured. */
export type StandIn = {
  /** The addresses of all replicas, as `SLUICE_CLICKHOUSE_URL` takes them. */
  urls: string;
  url(replica: number): string;
  /** One address behind which the replicas take turns. */
  balancer_url: string;
  replicas: readonly Replica[];
  cluster: Cluster;
  setState(replica: number, state: 'up' | 'refusing' | 'hanging'): void;
  /** Stops Keeper, or starts it again. */
  setKeeper(is_away: boolean): void;
  /** Stops a replica's fetches for this time. */
  stopFetches(replica: number, ms: number): void;
  /** Kills an engine with -9, which restarts at once. False while it is down. */
  kill(replica: number): boolean;
  /** A replica is lost with its disk, and an empty one takes its place. */
  replace(replica: number): Promise<void>;
  /** Resolves when the replica has done all current entries of the log. */
  caughtUp(replica: number): Promise<void>;
  /** Resolves when all replicas have done all entries of the log. */
  settled(): Promise<void>;
  close(): Promise<void>;
};

const settle_ms_max = 120_000;

/** Starts a stand-in, by default with three replicas. */
export async function openStandIn(
  given: Pick<ClusterSettings, 'folder'> & Partial<ClusterSettings>,
): Promise<StandIn> {
  const settings: ClusterSettings = {
    mode: 'replicated_database',
    replicas: 3,
    database: 'sluice',
    cluster: 'sluice',
    version: '26.7.7.87',
    replicated_deduplication_window: 10_000,
    trouble: no_trouble,
    weaknesses: new Set(),
    random: openRandom(1, 1),
    ...given,
  };
  mkdirSync(settings.folder, { recursive: true });
  const numbers = Array.from({ length: settings.replicas }, (_, index) => index);
  const replicas = await Promise.all(numbers.map((index) => openReplica(index, settings)));
  const cluster = joinCluster(settings, openKeeper(), replicas);
  const followers = replicas.map((replica) => replicate(cluster, replica, copyTable));
  const fronts = await openFronts(cluster);
  const url = (server: Server) =>
    `http://default@127.0.0.1:${(server.address() as AddressInfo).port}/${settings.database}`;
  return {
    cluster,
    replicas,
    url: (replica) => url(fronts.own[replica]!),
    urls: fronts.own.map(url).join(','),
    balancer_url: url(fronts.balancer),
    ...controls(cluster),
    close: async () => {
      cluster.is_closed = true;
      await Promise.all(followers);
      for (const server of [...fronts.own, fronts.balancer]) {
        server.close();
        server.closeAllConnections();
      }
      await Promise.all(replicas.map((replica) => replica.close()));
    },
  };
}

async function openFronts(cluster: Cluster): Promise<{ own: Server[]; balancer: Server }> {
  const { replicas, settings } = cluster;
  const any = () => {
    const up = replicas.filter(({ state }) => state === 'up');
    return up.length === 0 ? undefined : settings.random.one(up);
  };
  const own = replicas.map((replica) =>
    openFront(
      cluster,
      (text) => (settings.weaknesses.has('requests are spread') ? spread(cluster, text) : replica),
      () => replica.name,
    ),
  );
  const balancer = openFront(cluster, any, ({ name }) => name);
  for (const server of [...own, balancer]) {
    await listen(server);
  }
  return { own, balancer };
}

/**
 * The worst order of replicas: a waiting request goes to the most complete one, and a read to the
 * least complete one.
 */
function spread({ replicas, keeper }: Cluster, text: string): Replica | undefined {
  const lacks = ({ index }: Replica) =>
    [...keeper.tables.values()].reduce((sum, log) => sum + openEntries(log, index).length, 0);
  const up = replicas
    .filter(({ state }) => state === 'up')
    .toSorted((one, other) => lacks(one) - lacks(other));
  return /^\s*SYSTEM\s+SYNC\b/i.test(text) ? up[0] : up.at(-1);
}

function controls(cluster: Cluster) {
  const { replicas, keeper, changes } = cluster;
  const setState: StandIn['setState'] = (replica, state) => {
    replicas[replica]!.state = state;
    changes.tell();
  };
  return {
    setState,
    setKeeper: (is_away: boolean) => {
      keeper.is_away = is_away;
      changes.tell();
    },
    stopFetches: (replica: number, ms: number) => {
      replicas[replica]!.fetches_from = performance.now() + ms;
    },
    kill: (replica: number) => replicas[replica]!.kill(),
    replace: async (replica: number) => {
      const one = replicas[replica]!;
      one.state = 'gone';
      for (const { cancelled } of one.processes) cancelled.abort();
      forgetReplica(keeper, replica);
      changes.tell();
      await one.replace();
      // The work of the engine's last moments is lost too.
      forgetReplica(keeper, replica);
      changes.tell();
    },
    caughtUp: async (replica: number) => {
      const wanted = [...keeper.tables.values()].flatMap((log) => openEntries(log, replica));
      const isDone = () => wanted.every((entry) => isDoneAt(entry, replica));
      if (!(await changes.until(isDone, settle_ms_max)))
        throw new Error(`Replica ${replica + 1} did not catch up.`);
    },
    settled: async () => {
      const isSettled = () =>
        replicas.every(({ index, state }) => state === 'up' && isAllDone(cluster, index));
      if (!(await changes.until(isSettled, settle_ms_max)))
        throw new Error('The replicas did not settle.');
    },
  };
}

function isAllDone({ keeper }: Cluster, replica: number): boolean {
  return (
    keeper.definitions.every(({ outcomes }) => outcomes.has(replica)) &&
    [...keeper.tables.values()].every(
      (log) => !log.members.has(replica) || firstOpen(log, replica) === log.entries.length,
    )
  );
}
