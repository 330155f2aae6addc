import type { TableLog } from './keeper.ts';
import { asOfCluster } from './relations.ts';
import type { Replica } from './replica.ts';
import { logAt } from './replication.ts';
import type { Cluster } from './replication.ts';

const unfinished = 'SELECT table, mutation_id, command FROM system.mutations WHERE NOT is_done';

/**
 * Cancels the replica's unfinished mutations that match the condition, on all replicas. A mutation
 * is in the table's log, so no replica starts it any more.
 */
export async function takeBack(
  cluster: Cluster,
  replica: Replica,
  condition: string,
  settings: [string, string][],
): Promise<void> {
  const where = `${unfinished} AND (${condition}) FORMAT JSONCompactEachRow`;
  const [question] = await asOfCluster({ cluster, replica }, where, settings);
  for (const { table, command } of mutationsIn(
    await replica.ask({ text: question!.text, settings }),
  )) {
    const log = logAt(cluster, replica, table);
    for (const entry of log?.entries ?? [])
      if (entry.kind === 'change' && plainOf(entry.text) === command) entry.state = 'void';
    for (const one of log === undefined ? [replica] : cluster.replicas)
      await takeBackAt(one, table, command, log);
  }
  cluster.changes.tell();
}

/** Runs in turn with the replica's work on the log, so that nothing starts meanwhile. */
async function takeBackAt(
  replica: Replica,
  table: string,
  command: string,
  log: TableLog | undefined,
): Promise<void> {
  const work = async () => {
    const text = `${unfinished} AND database = currentDatabase() AND table = '${table}'
      FORMAT JSONCompactEachRow`;
    for (const found of mutationsIn(await replica.ask({ text })))
      if (found.command === command)
        await replica.ask({
          text: `KILL MUTATION WHERE database = currentDatabase() AND table = '${table}'
            AND mutation_id = '${found.mutation_id}' SYNC`,
        });
  };
  await (log === undefined ? work() : replica.line(log.name)(work));
}

function mutationsIn(lines: string) {
  const rows = lines.split('\n').filter((line) => line !== '');
  return rows.map((line) => {
    const [table, mutation_id, command] = JSON.parse(line) as [string, string, string];
    return { table, mutation_id, command: plainOf(command) };
  });
}

/** Without the parts that the engine spells its own way, and without its table. */
function plainOf(command: string): string {
  return command
    .replace(/^\s*ALTER\s+TABLE\s+\S+\s+/i, '')
    .replaceAll(/[\s()`;]/g, '')
    .toLowerCase();
}
