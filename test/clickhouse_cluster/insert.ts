import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Failure, NoAnswer } from './failure.ts';
import { beginEntry, rememberBlock } from './keeper.ts';
import type { Entry, TableLog } from './keeper.ts';
import type { Process, Replica } from './replica.ts';
import { apply, hasOpenChange, isActive } from './replication.ts';
import type { Cluster } from './replication.ts';

/** Rows that are being inserted into a replicated table. */
export type Insertion = {
  log: TableLog;
  text: string;
  body: Buffer;
  settings: [string, string][];
  process: Process;
};

const change_ms_max = 60_000;
const quorum_ms_default = 600_000;

/** Returns the value of a setting: the last one if it is repeated. */
export function settingOf(settings: [string, string][], name: string): string | undefined {
  return settings.findLast(([one]) => one === name)?.[1];
}

/**
 * Inserts a block at the replica as a replicated table does. The replicas agree on it by its hash.
 * It is there at once on this replica, and reaches the others later; with a quorum, the answer
 * waits for them. A known block is not inserted again. Throws `Failure` as ClickHouse does, and
 * `NoAnswer` if the replica goes away.
 */
export async function insertRows(
  cluster: Cluster,
  replica: Replica,
  insertion: Insertion,
): Promise<void> {
  const { log, process } = insertion;
  const quorum = quorumOf(cluster, insertion);
  requireLive(cluster, replica, log, quorum);
  const block_id = blockIdOf(cluster, insertion);
  const { trouble, random, weaknesses } = cluster.settings;
  // All random decisions precede the pause, so that they depend only on the seed.
  const [fate, commit_ms] = [random.next(), random.between(0, trouble.commit_ms_max)];
  const is_unknown = fate < trouble.unknown;
  const { signal } = process.cancelled;
  if (commit_ms > 0) await pause(commit_ms, undefined, { signal }).catch(() => undefined);
  if (signal.aborted) {
    if (block_id !== undefined && weaknesses.has('cancelled inserts leave a hash'))
      if (!log.blocks.has(block_id)) rememberBlock(log, block_id, undefined);
    throw cancelled();
  }
  if (is_unknown && fate < trouble.unknown / 2) throw unknown('Keeper did not answer');
  const is_copy = /\bFORMAT\s+Native\b/i.test(insertion.text);
  if (is_copy && weaknesses.has('copies lose blocks')) {
    log.is_copied_to = true;
    if (fate < 0.5) return;
  }
  const known = await findBlock(cluster, log, block_id);
  if (known.is_there) return waitForQuorum(cluster, insertion, known.entry, quorum);
  const entry = begin(cluster, replica, insertion, { block_id, quorum });
  const window = weaknesses.has('short deduplication window') ? 1 : log.window;
  if (block_id !== undefined) rememberBlock(log, block_id, entry, window);
  if (weaknesses.has('others insert without bound'))
    for (let other = 0; other < window; other += 1)
      rememberBlock(log, `other ${entry.number} ${other}`, undefined, window);
  await commit(cluster, replica, log, entry);
  if (is_unknown) throw unknown('the session with Keeper was lost');
  await waitForQuorum(cluster, insertion, entry, quorum);
}

function quorumOf({ settings: { weaknesses } }: Cluster, { log, settings }: Insertion): number {
  const text = settingOf(settings, 'insert_quorum') ?? '0';
  if (weaknesses.has('no quorum')) return 0;
  return text === 'auto' ? Math.floor(log.members.size / 2) + 1 : Number(text);
}

function requireLive(cluster: Cluster, replica: Replica, log: TableLog, quorum: number): void {
  if (cluster.keeper.is_away)
    throw new Failure(242, 'TABLE_IS_READ_ONLY', `Table is in readonly mode: ${log.path}`);
  const live = cluster.replicas.filter(
    (one) => log.members.has(one.index) && isActive(cluster, one),
  ).length;
  if (quorum > 1 && live < quorum)
    throw new Failure(
      285,
      'TOO_FEW_LIVE_REPLICAS',
      `Number of alive replicas (${live}) is less than requested quorum (${quorum}).`,
    );
  if (!isActive(cluster, replica)) throw new NoAnswer(`${replica.name} is away.`);
}

function blockIdOf(
  { settings: { weaknesses } }: Cluster,
  { settings, text, body }: Insertion,
): string | undefined {
  if (weaknesses.has('no deduplication')) return undefined;
  if (settingOf(settings, 'insert_deduplicate') === '0') return undefined;
  const token = settingOf(settings, 'insert_deduplication_token');
  if (token !== undefined && token !== '') return `token ${token}`;
  return createHash('sha256').update(text).update(body).digest('hex');
}

/** Finds a known block; waits for one that is being inserted. */
async function findBlock(
  cluster: Cluster,
  log: TableLog,
  id: string | undefined,
): Promise<{ is_there: boolean; entry?: Entry | undefined }> {
  for (;;) {
    if (id === undefined || !log.blocks.has(id)) return { is_there: false };
    const entry = log.blocks.get(id);
    if (entry?.state !== 'begun') return { is_there: true, entry };
    await cluster.changes.until(() => entry.state !== 'begun', change_ms_max);
  }
}

function begin(
  { settings: { random, trouble }, replicas }: Cluster,
  replica: Replica,
  { log, text, body, settings }: Insertion,
  { block_id, quorum }: { block_id: string | undefined; quorum: number },
): Entry {
  const now = performance.now();
  const straggler = (replica.index + random.between(1, replicas.length - 1)) % replicas.length;
  const late = ({ index }: Replica) => (index === straggler ? trouble.straggle_ms : 0);
  return beginEntry(log, {
    kind: 'rows',
    text,
    settings,
    source: replica.index,
    due: replicas.map((one) => now + random.between(0, trouble.fetch_ms_max) + late(one)),
    body,
    block_id,
    quorum,
  });
}

/** Lets the source store the block; if it cannot, the block was never agreed on. */
async function commit(
  cluster: Cluster,
  replica: Replica,
  log: TableLog,
  entry: Entry,
): Promise<void> {
  try {
    const is_free = await cluster.changes.until(
      () => !replica.to_copy.has(log) && !hasOpenChange(log, replica.index, entry.number),
      change_ms_max,
    );
    if (!is_free) throw new NoAnswer(`${replica.name} is behind for too long.`);
    await apply(cluster, replica, log, entry);
    if (replica.state === 'gone') throw new NoAnswer(`${replica.name} is lost.`);
    entry.state = 'agreed';
  } catch (error) {
    entry.state = 'void';
    if (entry.block_id !== undefined) log.blocks.delete(entry.block_id);
    throw error;
  } finally {
    cluster.changes.tell();
  }
}

async function waitForQuorum(
  cluster: Cluster,
  { settings, process }: Insertion,
  entry: Entry | undefined,
  quorum: number,
): Promise<void> {
  // A hash without rows counts as a block that all replicas have.
  if (quorum < 2 || entry === undefined) return;
  const ms = Number(settingOf(settings, 'insert_quorum_timeout') ?? quorum_ms_default);
  const { signal } = process.cancelled;
  const isOver = () => entry.holders.size >= quorum || entry.state === 'void' || signal.aborted;
  const is_over = await cluster.changes.until(isOver, ms);
  if (entry.holders.size >= quorum) return;
  if (signal.aborted) throw cancelled();
  throw unknown(
    is_over ? 'quorum for previous write has been failed' : 'timeout while waiting for quorum',
  );
}

function unknown(reason: string): Failure {
  return new Failure(
    319,
    'UNKNOWN_STATUS_OF_INSERT',
    `Unknown status of part, data was possibly inserted: ${reason}.`,
  );
}

function cancelled(): Failure {
  return new Failure(394, 'QUERY_WAS_CANCELLED', 'Query was cancelled.');
}
