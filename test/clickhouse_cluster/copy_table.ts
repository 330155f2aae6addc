import type { TableLog } from './keeper.ts';
import type { Replica } from './replica.ts';
import { applyChange, countRows } from './replication.ts';
import type { Cluster } from './replication.ts';

const agree_ms_max = 10_000;
/** A copy is one block, so a killed engine has all of it or nothing. */
const whole: [string, string][] = [
  ['max_insert_block_size', '1000000000'],
  ['min_insert_block_size_rows', '1000000000'],
  ['min_insert_block_size_bytes', '4000000000'],
  ['input_format_parallel_parsing', '0'],
];

/**
 * Copies into a recreated table of a replica the rows of the most complete replica. Like a real
 * replica, it fetches parts instead of repeating past inserts. Without any rows, it copies nothing.
 * May be repeated if it fails.
 */
export async function copyTable(cluster: Cluster, replica: Replica, log: TableLog): Promise<void> {
  const held = (one: Replica) => log.entries.filter(({ holders }) => holders.has(one.index)).length;
  const source = cluster.replicas
    .filter((one) => one !== replica && one.state === 'up' && !one.to_copy.has(log))
    .toSorted((one, other) => held(other) - held(one))[0];
  if (source !== undefined && held(source) > 0)
    await source.line(log.name)(() =>
      replica.line(log.name)(() => copyFrom(cluster, source, replica, log)),
    );
  replica.to_copy.delete(log);
  cluster.changes.tell();
}

async function copyFrom(
  cluster: Cluster,
  source: Replica,
  replica: Replica,
  log: TableLog,
): Promise<void> {
  const entries = log.entries.filter(({ holders }) => holders.has(source.index));
  const isAgreed = () => entries.every(({ state }) => state !== 'begun');
  if (!(await cluster.changes.until(isAgreed, agree_ms_max))) throw new Error('Nobody agrees.');
  // An earlier copy may have stored its rows before its engine was killed.
  if ((await countRows(replica, log.name)) > 0)
    await replica.ask({ text: `TRUNCATE TABLE ${log.name}` });
  for (const entry of entries) if (entry.kind === 'change') await applyChange(replica, log, entry);
  const { body } = await source.read({ text: `SELECT * FROM ${log.name} FORMAT Native` });
  const rows = Buffer.concat((await body.toArray()) as Buffer[]);
  if (rows.length > 0)
    await replica.ask({
      text: `INSERT INTO ${log.name} FORMAT Native`,
      body: rows,
      settings: whole,
    });
  replica.rows.set(log.name, await countRows(replica, log.name));
  for (const { holders } of entries) holders.add(replica.index);
}
