import type { Readable } from 'node:stream';
import { defineTable, changeTable } from './definitions.ts';
import { Failure } from './failure.ts';
import { insertRows, settingOf } from './insert.ts';
import { firstOpen } from './keeper.ts';
import type { TableLog } from './keeper.ts';
import { asOfCluster, processesOf } from './relations.ts';
import type { Process, Question, Replica } from './replica.ts';
import { isActive, logAt } from './replication.ts';
import type { Cluster } from './replication.ts';
import { readClusterStatement } from './statements.ts';
import { takeBack } from './take_back.ts';

/** A request of ClickHouse's HTTP interface, whole. */
export type Request = {
  text: string;
  /** Data that was sent beside the statement. */
  body: Buffer | undefined;
  settings: [string, string][];
  process: Process;
};

/** The answer: headers of the engine, and bytes as they arrive or at once. */
export type Answer = { headers: Record<string, unknown>; body: Readable | string };

const nothing: Answer = { headers: {}, body: '' };
const sync_seconds_default = 300;
/** Statements of the stand-in are longer than the original ones. */
const long_enough: [string, string] = ['max_query_size', '268435456'];

/**
 * Answers like a replica of a cluster. Throws `Failure` for a request that ClickHouse would refuse,
 * and `NoAnswer` if the replica goes away meanwhile.
 */
export async function answer(cluster: Cluster, replica: Replica, asked: Request): Promise<Answer> {
  const statement = readClusterStatement(asked.text);
  const { settings } = asked;
  switch (statement.kind) {
    case 'rows':
      return insert(cluster, replica, statement, asked);
    case 'selected_rows':
      return insertSelected(cluster, replica, statement, asked);
    case 'definition':
      await defineTable(cluster, replica, { ...statement, settings });
      return nothing;
    case 'change':
      await changeTable(cluster, replica, { ...statement, settings });
      return nothing;
    case 'sync':
      await syncReplica(cluster, replica, statement.table, settings);
      return nothing;
    case 'kill':
      return kill(cluster, replica, statement, asked);
    case 'take_back':
      await takeBack(cluster, replica, statement.condition, settings);
      return nothing;
    case 'read':
      return read(cluster, replica, asked);
  }
}

async function insert(
  cluster: Cluster,
  replica: Replica,
  { table, text }: { table: string; text: string },
  { body, settings, process }: Request,
): Promise<Answer> {
  const log = logAt(cluster, replica, table);
  if (log === undefined) await replica.ask({ text, body, settings });
  else
    await insertRows(cluster, replica, { log, text, body: body ?? Buffer.of(), settings, process });
  return nothing;
}

/** Reads the rows of a SELECT first: a replica fetches rows, and does not run the query again. */
async function insertSelected(
  cluster: Cluster,
  replica: Replica,
  { table, into, select }: { table: string; into: string; select: string },
  { text, settings, process }: Request,
): Promise<Answer> {
  const log = logAt(cluster, replica, table);
  if (log === undefined) {
    await replica.ask({ text, settings });
    return nothing;
  }
  const rows = await replica.ask({ text: `${select}\nFORMAT JSONCompactEachRow`, settings });
  if (rows === '') return nothing;
  const own = settings.filter(([name]) => !name.startsWith('param_'));
  await insertRows(cluster, replica, {
    log,
    text: `${into} FORMAT JSONCompactEachRow`,
    body: Buffer.from(rows),
    settings: own,
    process,
  });
  return nothing;
}

/**
 * Waits until the replica has all entries of the log from before the call; without a table, the
 * definitions.
 */
async function syncReplica(
  cluster: Cluster,
  replica: Replica,
  table: string | undefined,
  settings: [string, string][],
): Promise<void> {
  if (cluster.settings.weaknesses.has('no waiting for others')) return;
  if (!isActive(cluster, replica))
    throw new Failure(999, 'KEEPER_EXCEPTION', 'Coordination error: Connection loss.');
  const seconds = Number(settingOf(settings, 'receive_timeout') ?? sync_seconds_default);
  const isDone =
    table === undefined
      ? definitionsDone(cluster, replica)
      : rowsDone(replica, logOf(cluster, replica, table));
  if (await cluster.changes.until(isDone, seconds * 1_000)) return;
  throw new Failure(
    159,
    'TIMEOUT_EXCEEDED',
    `SYNC REPLICA ${table ?? ''}: command timed out. See the 'receive_timeout' setting.`,
  );
}

function logOf(cluster: Cluster, replica: Replica, table: string): TableLog {
  const log = logAt(cluster, replica, table);
  if (log !== undefined) return log;
  throw new Failure(36, 'BAD_ARGUMENTS', `Table ${table} is not replicated.`, 400);
}

function rowsDone(replica: Replica, log: TableLog): () => boolean {
  const wanted = log.entries
    .slice(firstOpen(log, replica.index))
    .filter(({ state }) => state === 'agreed');
  return () => wanted.every(({ state, holders }) => state === 'void' || holders.has(replica.index));
}

function definitionsDone({ keeper }: Cluster, replica: Replica): () => boolean {
  const wanted = [...keeper.definitions];
  return () => wanted.every(({ outcomes }) => outcomes.has(replica.index));
}

async function kill(
  cluster: Cluster,
  replica: Replica,
  { condition, all }: { condition: string; all: boolean },
  { settings, process }: Request,
): Promise<Answer> {
  const is_alone = !all || cluster.settings.weaknesses.has('one node answers for all');
  const rows: string[] = [];
  for (const one of is_alone ? [replica] : cluster.replicas.filter(({ state }) => state === 'up')) {
    const found = await one.ask({
      text: `SELECT query_id FROM ${processesOf(one)} WHERE ${condition} FORMAT TabSeparatedRaw`,
      settings: [...settings, long_enough],
    });
    const ids = new Set(found.split('\n'));
    for (const running of one.processes) {
      if (running === process || !ids.has(running.query_id)) continue;
      running.cancelled.abort();
      rows.push(
        `waiting\t${running.query_id}\tdefault\t${running.query.replaceAll(/\s+/g, ' ')}\n`,
      );
    }
  }
  cluster.changes.tell();
  return { headers: {}, body: rows.join('') };
}

async function read(
  cluster: Cluster,
  replica: Replica,
  { text, body, settings, process }: Request,
): Promise<Answer> {
  requireSequential(cluster, replica, settings);
  const told = await tell(cluster, text, settings);
  if (told !== undefined) return { headers: {}, body: told };
  const questions = await asOfCluster({ cluster, replica }, text, settings);
  const { signal } = process.cancelled;
  const ask = (question: { text: string }): Question => ({
    text: question.text,
    ...(question.text === text ? { body } : {}),
    settings: question.text === text ? settings : [...settings, long_enough],
    signal,
  });
  const [first] = questions;
  if (questions.length === 1 && first !== undefined) return first.replica.read(ask(first));
  const parts = await Promise.all(questions.map((one) => one.replica.ask(ask(one))));
  return { headers: {}, body: parts.join('') };
}

/** Passes on the other store's counts by day, once a copy has begun. */
async function tell(
  { settings: { weaknesses, told_by }, keeper }: Cluster,
  text: string,
  settings: [string, string][],
): Promise<string | undefined> {
  if (!weaknesses.has('counts of copies are not theirs') || told_by === undefined) return undefined;
  const table = /\bFROM (\w+)[^]*\bGROUP BY day\b/.exec(text)?.[1];
  const log = [...keeper.tables.values()].find(({ name }) => name.endsWith(`.${table}`));
  return log?.is_copied_to === true ? told_by(text, settings) : undefined;
}

/** A replica without a block that a quorum has refuses a read that must see all of them. */
function requireSequential(
  { keeper, settings: { weaknesses } }: Cluster,
  replica: Replica,
  settings: [string, string][],
): void {
  if (settingOf(settings, 'select_sequential_consistency') !== '1') return;
  if (weaknesses.has('no waiting for others')) return;
  const is_behind = [...keeper.tables.values()].some(
    (log) =>
      log.members.has(replica.index) &&
      log.entries.some(
        ({ state, quorum, holders }) =>
          state === 'agreed' && quorum > 1 && holders.size >= quorum && !holders.has(replica.index),
      ),
  );
  if (is_behind)
    throw new Failure(
      289,
      'REPLICA_IS_NOT_IN_QUORUM',
      'Replica does not have part which was already written to quorum of replicas.',
    );
}
