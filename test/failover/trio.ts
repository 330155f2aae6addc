import { setTimeout as pause } from 'node:timers/promises';
import type { Random } from '../chaos/random.ts';
import { openPostgresServer, user } from './postgres_server.ts';
import type { PostgresServer } from './postgres_server.ts';

/**
 * The failures of a primary. Its machine is lost. It is cut off from its standby and continues,
 * with all connections. It freezes, and wakes up later. It is lost, and restarts unchanged.
 */
export const fates = ['killed', 'cut off', 'frozen', 'revived'] as const;
/** One of `fates`. */
export type Fate = (typeof fates)[number];

/** Three servers: a primary, its synchronous standby, and one that will be the next standby. */
export type Trio = {
  /** Names all of them. */
  url: string;
  primary(): PostgresServer;
  /**
   * Fails the primary, promotes the standby and creates a new one. `meanwhile` runs once the new
   * primary works, and the old one, if it survives, is awake. The old one is down afterwards.
   */
  failOver(fate: Fate, meanwhile: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
};

const let_go_ms = 2_000;

/**
 * Cancels the commits that wait on the old primary, like an operator. Each is answered with a
 * warning, and exists only there.
 */
async function letGo(old: PostgresServer): Promise<void> {
  const end = performance.now() + let_go_ms;
  while (performance.now() < end) {
    await old.ask(`SELECT pg_cancel_backend(pid) FROM pg_stat_activity
      WHERE wait_event = 'SyncRep'`);
    await pause(50);
  }
}

/** Starts a primary with its standby in a folder. */
export async function openTrio(folder: string, programs: string, random: Random): Promise<Trio> {
  const servers: PostgresServer[] = [];
  for (const name of ['a', 'b', 'c'])
    servers.push(await openPostgresServer(name, folder, programs));
  let [primary, standby, spare] = servers as [PostgresServer, PostgresServer, PostgresServer];
  const close = async () => {
    for (const server of servers) {
      server.signal('SIGCONT');
      await server.kill();
    }
  };
  try {
    await primary.create();
    await standby.follow(primary);
  } catch (error) {
    await close();
    throw error;
  }
  const hosts = servers.map(({ address }) => address).join(',');
  const url = primary.url(user).replace(primary.address, hosts);
  return {
    url: `${url}?target_session_attrs=read-write`,
    primary: () => primary,
    failOver: async (fate, meanwhile) => {
      const old = primary;
      if (fate === 'killed' || fate === 'revived') await old.kill();
      if (fate === 'frozen') old.signal('SIGSTOP');
      await standby.promote();
      // Half of the time, the old one is awake before the new one accepts writes.
      const isEarly = random.next() < 0.5;
      const wake = async () => {
        if (fate === 'frozen') old.signal('SIGCONT');
        if (fate === 'revived') await old.start();
        if (fate !== 'killed') await letGo(old);
      };
      if (isEarly) await wake();
      await spare.follow(standby);
      [primary, standby, spare] = [standby, spare, old];
      if (!isEarly) await wake();
      await meanwhile();
      await old.kill();
    },
    close,
  };
}
