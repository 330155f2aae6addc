import sql from 'sql-template-tag';
import { buildApp } from '../../server/app.ts';
import { notePrimary } from '../../server/platform/postgres/control_store.ts';
import { openDatabase } from '../../server/platform/postgres/database.ts';
import type { Database } from '../../server/platform/postgres/database.ts';
import { openHarness } from '../harness.ts';
import type { Harness, TestOrganization } from '../harness.ts';
import { addDestinations } from './destination.ts';
import { inTurns } from './in_turns.ts';
import { newActor } from './actor.ts';
import type { Actor } from './actor.ts';
import type { Turns } from './turns.ts';
import { openVirtualTime } from './virtual_time.ts';
import type { VirtualTime } from './virtual_time.ts';

/** The server and the clock of histories, which follow each other. */
export type Simulator = {
  harness: Harness;
  home: TestOrganization;
  time: VirtualTime;
  /** Observes without turns. */
  db: Database;
  /** The sessions of the process of this name; the next process that was not killed gets them. */
  sessionsOf(name: string): Database;
  /** Ends the sessions of a killed process. Returns once they hold nothing. */
  endSessions(name: string): Promise<void>;
  /** Counts the sessions that wait for another one's lock. */
  blocked(): Promise<number>;
  /** A person who calls the API. */
  person: Actor;
  /** Gives the person these turns from now on. */
  letAsk(turns: Turns): void;
  close(): Promise<void>;
};

let is_destination_added = false;

/** Opens a server in virtual time. The process is its own, because the clock is replaced. */
export async function openSimulator(): Promise<Simulator> {
  if (!is_destination_added) addDestinations();
  is_destination_added = true;
  const person = newActor('person');
  let asked: Turns | undefined;
  const turns: Pick<Turns, 'step'> = {
    step: (actor, label, work) => asked?.step(actor, label, work) ?? work(),
  };
  const time: { virtual: VirtualTime | undefined } = { virtual: undefined };
  const harness = await openHarness({
    clickhouse: false,
    watch: false,
    deps: { clock: { now: () => time.virtual?.now() ?? Date.now() } },
    build: (deps) => {
      const db = inTurns(deps.db, person, turns);
      return buildApp({ ...deps, db, engine: { ...deps.engine, db } });
    },
  });
  const db = openDatabase(harness.stores.database_url, {
    connections_max: 2,
    application_name: 'simulation',
  });
  const virtual = await openVirtualTime(db);
  // As each process does that starts.
  await notePrimary(db);
  time.virtual = virtual;
  const sessions = openSessions(harness.stores.database_url, db);
  return {
    harness,
    home: await harness.newOrganization(),
    time: virtual,
    db,
    ...sessions,
    blocked: async () => {
      const row = await db.row<{ sessions: number }>(sql`
        SELECT count(*)::int AS sessions FROM pg_stat_activity
        WHERE datname = current_database() AND cardinality(pg_blocking_pids(pid)) > 0`);
      return row!.sessions;
    },
    person,
    letAsk: (those) => (asked = those),
    close: async () => {
      virtual.close();
      await Promise.all([db.close(), sessions.closeAll()]);
      await harness.close();
    },
  };
}

/** The sessions of processes, which can be ended as the system ends those of a killed one. */
function openSessions(url: string, db: Database) {
  const all = new Map<string, Database>();
  return {
    sessionsOf: (name: string) => {
      const known =
        all.get(name) ?? openDatabase(url, { connections_max: 12, application_name: name });
      all.set(name, known);
      return known;
    },
    endSessions: async (name: string) => {
      void all
        .get(name)
        ?.close()
        .catch(() => undefined);
      all.delete(name);
      const end = () =>
        db.run(sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND application_name = ${name}`);
      while ((await end()) > 0);
    },
    closeAll: () => Promise.all([...all.values()].map((one) => one.close())),
  };
}
