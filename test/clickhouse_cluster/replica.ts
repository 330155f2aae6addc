import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { Agent, request } from 'undici';
import { openEmbeddedClickHouse } from '../../server/platform/embedded/clickhouse/clickhouse.ts';
import type { EmbeddedStore } from '../../server/platform/embedded/supervise.ts';
import { silentLog } from '../../server/platform/log.ts';
import { Failure, NoAnswer } from './failure.ts';
import type { TableLog } from './keeper.ts';
import { openLine } from './wait_for.ts';

/** A request to an engine: a statement, its data, and all its settings. */
export type Question = {
  text: string;
  body?: Buffer | undefined;
  settings?: [string, string][];
  signal?: AbortSignal | undefined;
};

/** A request in progress at a replica, as `system.processes` shows it. */
export type Process = {
  query_id: string;
  query: string;
  began: number;
  /** Aborted by KILL, or after its time. */
  cancelled: AbortController;
};

/** A node of the cluster: an engine, its knowledge of its tables, and its condition. */
export type Replica = {
  index: number;
  name: string;
  /**
   * `hanging` accepts requests and answers them once it is `up` again; `gone` has lost its disk.
   */
  state: 'up' | 'refusing' | 'hanging' | 'gone';
  /** It fetches nothing from others until then, on the scale of `performance.now()`. */
  fetches_from: number;
  /** Its replicated tables by name. */
  tables: Map<string, TableLog>;
  /** Rows of each table, as far as they are known. */
  rows: Map<string, number>;
  /** Recreated tables of which other replicas have rows. */
  to_copy: Set<TableLog>;
  processes: Set<Process>;
  /** Lets one write to a table run at a time. */
  line(table: string): ReturnType<typeof openLine>;
  /** Answers with the whole text. Throws `Failure`, or `NoAnswer` while the engine is down. */
  ask(question: Question): Promise<string>;
  /** Answers with headers and bytes, as they arrive. */
  read(question: Question): Promise<{ headers: Record<string, unknown>; body: Readable }>;
  /** Kills the engine with -9, which restarts at once. False while it is down. */
  kill(): boolean;
  /** Ends the engine, removes its disk, and restarts it empty. */
  replace(): Promise<void>;
  close(): Promise<void>;
};

type Settings = { folder: string; database: string };

/** Starts an engine, and returns a replica around it. */
export async function openReplica(index: number, settings: Settings): Promise<Replica> {
  const engine = await openEngine(join(settings.folder, `replica_${index + 1}`), settings.database);
  const lines = new Map<string, ReturnType<typeof openLine>>();
  const replica: Replica = {
    index,
    name: `replica-${index + 1}`,
    state: 'up',
    fetches_from: 0,
    tables: new Map(),
    rows: new Map(),
    to_copy: new Set(),
    processes: new Set(),
    line: (table) => {
      const line = lines.get(table) ?? openLine();
      lines.set(table, line);
      return line;
    },
    ask: (question) => engine.ask(question),
    read: (question) => engine.read(question),
    kill: () => replica.state !== 'gone' && engine.kill(),
    replace: async () => {
      replica.state = 'gone';
      await engine.replace(() => {
        replica.tables.clear();
        replica.rows.clear();
        replica.to_copy.clear();
      });
      replica.state = 'up';
    },
    close: () => engine.close(),
  };
  return replica;
}

/**
 * Opens the embedded engine in a folder, with a database. It calls `replace` once it has lost its
 * data.
 */
async function openEngine(folder: string, database: string) {
  const agent = new Agent({ connections: 48, pipelining: 1, bodyTimeout: 0, headersTimeout: 0 });
  const within = (question: Question): Question => ({
    ...question,
    settings: [...(question.settings ?? []), ['database', database]],
  });
  const start = async () => {
    const started = await openEmbeddedClickHouse({
      folder,
      log: silentLog(),
      memory_bytes_max: 1_000_000_000,
    });
    const text = `CREATE DATABASE IF NOT EXISTS ${database} ENGINE = Atomic`;
    await askEngine(started, agent, { text });
    return started;
  };
  let store: EmbeddedStore = await start();
  // Its own supervisor would wait longer each time.
  let coming_back: Promise<void> | undefined;
  const comeBack = async () => {
    await store.stop();
    store = await start();
    coming_back = undefined;
  };
  return {
    ask: (question: Question) => askEngine(store, agent, within(question)),
    read: (question: Question) => readEngine(store, agent, within(question)),
    kill: () => {
      const { pid } = store;
      if (pid === undefined || coming_back !== undefined) return false;
      process.kill(pid, 'SIGKILL');
      coming_back = comeBack();
      return true;
    },
    replace: async (onEmpty: () => void) => {
      await coming_back;
      await store.stop();
      await rm(folder, { recursive: true, force: true });
      onEmpty();
      store = await start();
    },
    close: async () => {
      await coming_back;
      await agent.destroy();
      await store.stop();
    },
  };
}

async function readEngine(
  store: EmbeddedStore,
  agent: Agent,
  { text, body, settings = [], signal }: Question,
): Promise<{ headers: Record<string, unknown>; body: Readable }> {
  const { origin, username, password } = new URL(store.url);
  const address = new URLSearchParams(settings);
  // With data the statement is in the address, otherwise it is the body, which may be long.
  if (body !== undefined) address.set('query', text);
  let answer;
  try {
    answer = await request(`${origin}/?${address}`, {
      method: 'POST',
      dispatcher: agent,
      headers: {
        authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`,
      },
      body: body ?? text,
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    throw new NoAnswer(String(error));
  }
  if (answer.statusCode === 200) return { headers: answer.headers, body: answer.body };
  const told = await answer.body.text();
  const found = /^Code: (\d+)\. DB::Exception: ([\s\S]*) \((\w+)\)\s*$/.exec(told);
  throw new Failure(
    Number(found?.[1] ?? 1000),
    found?.[3] ?? 'UNKNOWN_EXCEPTION',
    found?.[2] ?? told,
    answer.statusCode,
  );
}

async function askEngine(store: EmbeddedStore, agent: Agent, question: Question): Promise<string> {
  const { body } = await readEngine(store, agent, question);
  try {
    return Buffer.concat(await body.toArray()).toString();
  } catch (error) {
    throw new NoAnswer(String(error));
  }
}
