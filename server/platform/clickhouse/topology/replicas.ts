import { AsyncLocalStorage } from 'node:async_hooks';
import { setMaxListeners } from 'node:events';
import { addAbortSignal } from 'node:stream';
import type { Readable } from 'node:stream';
import type { ClickHouseClient, ClickHouseSettings, QueryParams } from '@clickhouse/client';
import { StoreAwayError } from '../../store_away.ts';
import { one_node } from './mode.ts';
import type { Mode } from './mode.ts';
import { requestSettings } from './request_settings.ts';

/** The part of the official client that we use. */
export type Client = Pick<
  ClickHouseClient,
  'query' | 'exec' | 'insert' | 'command' | 'ping' | 'close'
>;
type Operation = 'query' | 'exec' | 'insert' | 'command';
type Request = {
  query?: string;
  abort_signal?: AbortSignal;
  clickhouse_settings?: ClickHouseSettings;
};

/** One address of the store, and its state. */
type Replica = {
  client: Client;
  name: string | undefined;
  /** True if it answered at the last check. */
  is_up: boolean;
  lost: AbortController;
};

/** All addresses of a store. */
export type Replicas = Client & {
  mode: Mode;
  /** The cluster named in the settings. */
  readonly cluster: string | undefined;
  /** Number of changes to another replica since the start. */
  changes: number;
  readonly addresses: number;
  /** Returns all rows of the answer to `query`, which must fit into memory. */
  rows<Row>(params: Omit<QueryParams, 'format'>): Promise<Row[]>;
  /**
   * Runs the work with all of its requests on one replica that `ready` has prepared; if `ready`
   * fails, it tries the next one. Rejects with the last failure if all fail. `ready` gets an object
   * that stands for the replica.
   */
  onOne<Result>(
    ready: (replica: object) => Promise<unknown>,
    work: () => Promise<Result>,
  ): Promise<Result>;
  /** Runs the work once for each address, one after the other; rejects if one fails. */
  onEach<Result>(
    ready: (replica: object) => Promise<unknown>,
    work: () => Promise<Result>,
  ): Promise<Result[]>;
};

/** The header with a server's name in each answer. */
const name_header = 'x-clickhouse-server-display-name';
/** After this silence, the client switches to another replica. */
const silence_ms = 5_000;
const look_ms = 2_000;
/** Errors of a replica that cannot work now, while another one may. */
const away_errors = new Set(['KEEPER_EXCEPTION', 'NO_ZOOKEEPER', 'TABLE_IS_READ_ONLY']);

/** Thrown if another replica answered than before; the work must restart. */
class ReplicaChangedError extends StoreAwayError {
  constructor() {
    super(
      'A different replica of the analytics store answered, so the work restarts. If this ' +
        'happens often, name each replica in SLUICE_CLICKHOUSE_URL.',
    );
    this.name = 'ReplicaChangedError';
  }
}

/**
 * The cluster's name; the callback for a switch of replicas; and the wait before every insert with
 * replicas.
 */
export type ReplicaOptions = {
  cluster?: string | undefined;
  onReplicaChange?: () => void;
  beforeInsert?: () => Promise<void>;
};

/**
 * Joins clients of all addresses of a store into one. It uses one of them until it is unreachable,
 * silent or unable to work, and then the next. Guarantees: a failed request is never sent twice;
 * after a switch, reads from the old replica end with an error; inserts continue.
 */
export function joinReplicas(
  clients: Client[],
  { cluster, onReplicaChange, beforeInsert }: ReplicaOptions = {},
): Replicas {
  const pool = openPool(clients, () => {
    joined.changes += 1;
    onReplicaChange?.();
  });
  const ask = (operation: Operation) => async (params: unknown) => {
    const given = params as Request;
    if (joined.mode.kind !== 'one_node' && isInsert(given)) await beforeInsert?.();
    // The official client ignores a signal that was already aborted.
    given.abort_signal?.throwIfAborted();
    return askReplica(pool, joined.mode, operation, given);
  };
  const watch = setInterval(
    () => void Promise.all(pool.all().map((one) => look(pool, one))),
    look_ms,
  );
  watch.unref();
  if (clients.length === 1) clearInterval(watch);
  const joined: Replicas = {
    mode: one_node,
    cluster,
    changes: 0,
    addresses: clients.length,
    async rows(params) {
      return (await this.query({ ...params, format: 'JSONEachRow' })).json();
    },
    query: ask('query') as unknown as Client['query'],
    exec: ask('exec') as unknown as Client['exec'],
    insert: ask('insert') as unknown as Client['insert'],
    command: ask('command') as unknown as Client['command'],
    ping: async (params) => pool.current().client.ping(params),
    close: async () => {
      clearInterval(watch);
      await Promise.all(clients.map((client) => client.close()));
    },
    onOne: (ready, work) => onOne(pool, ready, work),
    onEach: async (ready, work) => {
      const results = [];
      for (const replica of pool.all()) {
        await pool.held.run(replica, ready, replica);
        results.push(await pool.held.run(replica, work));
      }
      return results;
    },
  };
  return joined;
}

/** The replicas of a store, and their assignment to callers. */
type Pool = {
  size: number;
  all(): Replica[];
  /** Returns the replica for callers without their own. */
  current(): Replica;
  held: AsyncLocalStorage<Replica>;
  /** Selects another one for later requests; current reads continue. */
  pass(replica: Replica): void;
  /** Does the same, and ends current reads. */
  leave(replica: Replica, reason: unknown): void;
};

function openPool(clients: Client[], onChange: () => void): Pool {
  const replicas = clients.map(fresh);
  // Random, so that processes spread over the replicas.
  let at = Math.floor(Math.random() * replicas.length);
  const pass = (replica: Replica) => {
    if (replica !== replicas[at] || replicas.length === 1) return;
    const others = replicas.map((_one, step) => (at + 1 + step) % replicas.length).slice(0, -1);
    at = others.find((one) => replicas[one]!.is_up) ?? others[0]!;
    onChange();
  };
  return {
    size: replicas.length,
    all: () => [...replicas],
    current: () => replicas[at]!,
    held: new AsyncLocalStorage(),
    pass,
    leave: (replica, reason) => {
      const index = replicas.indexOf(replica);
      if (index === -1 || replicas.length === 1) return;
      pass(replica);
      replicas[index] = { ...fresh(replica.client), is_up: false };
      const text = reason instanceof Error ? reason.message : String(reason);
      replica.lost.abort(
        new StoreAwayError(`A replica of the analytics store was left: ${text}`, { cause: reason }),
      );
    },
  };
}

async function askReplica(
  pool: Pool,
  mode: Mode,
  operation: Operation,
  given: Request,
): Promise<object> {
  const replica = pool.held.getStore() ?? pool.current();
  const send = replica.client[operation].bind(replica.client) as (
    given: Request,
  ) => Promise<object>;
  if (mode.kind === 'one_node' && pool.size === 1) return send(given);
  const reads = !isInsert(given) && !/^\s*(ALTER|CREATE)/i.test(given.query ?? '');
  if (reads) replica.lost.signal.throwIfAborted();
  const signals = [given.abort_signal, reads ? replica.lost.signal : undefined].filter(
    (signal) => signal !== undefined,
  );
  try {
    const answer = await send({
      ...given,
      ...(signals.length > 0 ? { abort_signal: AbortSignal.any(signals) } : {}),
      clickhouse_settings: { ...requestSettings(mode), ...given.clickhouse_settings },
    });
    requireSame(mode, replica, answer);
    if (operation === 'exec' && reads)
      addAbortSignal(replica.lost.signal, (answer as { stream: Readable }).stream);
    return answer;
  } catch (error) {
    if (given.abort_signal?.aborted === true) throw error;
    if (isAway(error)) pool.leave(replica, error);
    // Other requests failed because the replica was lost.
    throw reads && replica.lost.signal.aborted ? replica.lost.signal.reason : error;
  }
}

/** The client's own `insert` has no text. */
function isInsert({ query }: Request): boolean {
  return query === undefined || /^\s*INSERT/i.test(query);
}

async function onOne<Result>(
  pool: Pool,
  ready: (replica: object) => Promise<unknown>,
  work: () => Promise<Result>,
): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    const held = pool.held.getStore();
    const replica = tries === 1 && held?.lost.signal.aborted === false ? held : pool.current();
    try {
      await pool.held.run(replica, ready, replica);
    } catch (error) {
      if (tries >= pool.size) throw error;
      // A replica that lags still has the data that its readers waited for.
      if (isAway(error)) pool.leave(replica, error);
      else pool.pass(replica);
      continue;
    }
    return pool.held.run(replica, work);
  }
}

function fresh(client: Client): Replica {
  const lost = new AbortController();
  // All current reads listen.
  setMaxListeners(0, lost.signal);
  return { client, name: undefined, is_up: true, lost };
}

/** Behind a load-balanced address, a read could reach a replica that has not caught up. */
function requireSame(mode: Mode, replica: Replica, answer: object): void {
  if (mode.kind === 'cloud' || !('response_headers' in answer)) return;
  const name = (answer.response_headers as Record<string, unknown>)[name_header];
  if (typeof name !== 'string') return;
  const known = replica.name;
  replica.name = name;
  if (known === undefined || known === name) return;
  if ('stream' in answer && answer.stream instanceof Object && 'destroy' in answer.stream)
    (answer.stream as { destroy(): void }).destroy();
  throw new ReplicaChangedError();
}

/** An answer of the server has ClickHouse's error type; without it, the server was not reached. */
function isAway(error: unknown): boolean {
  if (error instanceof ReplicaChangedError) return false;
  const type = error instanceof Error && 'type' in error ? error.type : undefined;
  return typeof type === 'string' ? away_errors.has(type) : true;
}

async function look(pool: Pool, replica: Replica): Promise<void> {
  try {
    const answer = await replica.client.query({
      query:
        'SELECT max(is_readonly) AS is_readonly FROM system.replicas ' +
        'WHERE database = currentDatabase()',
      format: 'JSONEachRow',
      abort_signal: AbortSignal.timeout(silence_ms),
    });
    const [row] = await answer.json<{ is_readonly: number }>();
    if (row?.is_readonly === 1) pool.leave(replica, new Error('The replica is read only.'));
    else replica.is_up = true;
  } catch (error) {
    pool.leave(replica, error);
  }
}
