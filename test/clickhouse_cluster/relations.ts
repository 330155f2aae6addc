import { literal } from '../../server/platform/clickhouse/quote.ts';
import { Failure } from './failure.ts';
import { openEntries } from './keeper.ts';
import type { Process, Replica } from './replica.ts';
import { isActive, nameIn } from './replication.ts';
import type { Cluster } from './replication.ts';
import { replaceOutsideTexts } from './statements.ts';

/** The cluster and replica of a query, which decide how its relations are replaced. */
type Asked = { cluster: Cluster; replica: Replica };

const own_tables =
  /\bsystem\.(processes|replicas|clusters|macros|mutations|tables|databases|merge_tree_settings)\b/;
const host_functions = /\b(?:hostName|hostname|fqdn)\(\)/;
const version_function = /\bversion\(\)/;
const table_name = String.raw`(?:currentDatabase\(\)\s*,\s*)?[\w.\x60]+(?:\s*,\s*[\w.\x60]+)?`;
const all_replicas = new RegExp(
  String.raw`\bcluster(?:AllReplicas)?\(\s*(?:'([^']*)'|([\w.{}-]+))\s*,\s*(${table_name})\s*\)`,
);
const groups_by_host = /\bGROUP\s+BY\s+(?:hostName\(\)|host\b)/i;
/** Tables of these databases are alike on all nodes. */
const not_of_engine =
  "WHERE database NOT IN ('system', 'information_schema', 'INFORMATION_SCHEMA')";

/**
 * The text that an engine of the stand-in can answer as the cluster would. Tables and functions
 * that a single engine answers differently are replaced with the cluster's own facts.
 */
export async function asOfCluster(asked: Asked, text: string, settings: [string, string][]) {
  if (!all_replicas.test(text)) return [{ ...asked, text: asOfReplica(asked, text) }];
  const asked_of = replicasToAsk(asked, settings);
  // The rows of each replica form a group.
  if (groups_by_host.test(text))
    return asked_of.map((replica) => ({
      ...asked,
      replica,
      text: asOfReplica(
        { ...asked, replica },
        replaceOutsideTexts(text, all_replicas, (found) => relationIn(found)),
      ),
    }));
  const relations = new Map<string, string>();
  replaceOutsideTexts(
    text,
    all_replicas,
    (found) => (relations.set(found[0]!, relationIn(found)), ''),
  );
  for (const [call, relation] of relations)
    relations.set(call, await gather(asked, asked_of, relation));
  const gathered = replaceOutsideTexts(text, all_replicas, ([call]) => relations.get(call!) ?? '');
  const hosted = replaceOutsideTexts(gathered, host_functions, () => 'stand_in_host');
  return [{ ...asked, text: hosted }];
}

/** The relation that all replicas answer: the second group, after the cluster's name. */
function relationIn(found: string[]): string {
  return found[2]!.replace(/^currentDatabase\(\)\s*,\s*/, '').replace(/\s*,\s*/, '.');
}

function replicasToAsk({ cluster, replica }: Asked, settings: [string, string][]): Replica[] {
  if (cluster.settings.weaknesses.has('one node answers for all')) return [replica];
  const away = cluster.replicas.filter(({ state }) => state !== 'up');
  const skips = settings.some(
    ([name, value]) => name === 'skip_unavailable_shards' && value === '1',
  );
  if (away.length > 0 && !skips)
    throw new Failure(
      279,
      'ALL_CONNECTION_TRIES_FAILED',
      `All connection tries failed: ${away.map(({ name }) => name).join(', ')}.`,
    );
  return cluster.replicas.filter(({ state }) => state === 'up');
}

/**
 * Returns the rows of a relation on all replicas as one relation, with the replica's name in each.
 */
async function gather(asked: Asked, replicas: Replica[], relation: string): Promise<string> {
  const all = asOfReplica(asked, `SELECT * FROM ${relation}`);
  const described = await asked.replica.ask({
    text: `DESCRIBE TABLE (${all}) FORMAT JSONCompactEachRow`,
  });
  const structure = described
    .trim()
    .split('\n')
    .map((line) => {
      const [name, type] = JSON.parse(line) as [string, string];
      return `\`${name}\` ${type}`;
    })
    .join(', ');
  const where = /^system\.(columns|tables|parts)$/.test(relation) ? not_of_engine : '';
  const rows = await Promise.all(
    replicas.map((replica) =>
      replica.ask({
        text: `SELECT *, '${replica.name}' FROM (${asOfReplica(
          { ...asked, replica },
          `SELECT * FROM ${relation} ${where}`,
        )}) FORMAT JSONCompactEachRow`,
      }),
    ),
  );
  return rowsOf(`${structure}, stand_in_host String`, rows.join(''));
}

/** Returns the text for one replica. */
function asOfReplica(asked: Asked, text: string): string {
  const { cluster, replica } = asked;
  const hosted = replaceOutsideTexts(text, host_functions, () => `'${replica.name}'`);
  const told = replaceOutsideTexts(hosted, version_function, () => `'${cluster.settings.version}'`);
  return replaceOutsideTexts(told, own_tables, (found) =>
    relations[found[1]!.toLowerCase()]!(asked),
  );
}

const relations: Record<string, (asked: Asked) => string> = {
  processes: ({ replica }) => processesOf(replica),
  replicas: replicasRelation,
  clusters: clustersRelation,
  macros: ({ cluster, replica }) =>
    rowsOf('macro String, substitution String', [
      { macro: 'cluster', substitution: cluster.settings.cluster },
      { macro: 'shard', substitution: '1' },
      { macro: 'replica', substitution: replica.name },
    ]),
  mutations: mutationsRelation,
  tables: ({ replica }) => {
    const names = [...replica.tables.keys()].map((name) => `'${name}'`).join(', ');
    const is_ours = `concat(database, '.', name) IN (${names === '' ? "''" : names})`;
    return `(SELECT * REPLACE (if(${is_ours}, concat('Replicated', engine), engine) AS engine,
      if(${is_ours}, concat('Replicated', engine_full), engine_full) AS engine_full)
      FROM system.tables)`;
  },
  databases: ({ cluster: { settings } }) =>
    settings.mode === 'on_cluster'
      ? 'system.databases'
      : `(SELECT * REPLACE (if(name = '${settings.database}', 'Replicated', engine) AS engine)
          FROM system.databases)`,
  merge_tree_settings: ({ cluster: { settings } }) =>
    `(SELECT * REPLACE (if(name = 'replicated_deduplication_window',
      '${settings.replicated_deduplication_window}', value) AS value)
      FROM system.merge_tree_settings)`,
};

/** Returns a replica's current work, as a relation. */
export function processesOf(replica: Replica): string {
  return rowsOf(
    'query_id String, initial_query_id String, is_initial_query UInt8, user String, ' +
      'query String, elapsed Float64, is_cancelled UInt8, Settings Map(String, String)',
    [...replica.processes].map(({ query_id, query, began, cancelled }: Process) => ({
      query_id,
      initial_query_id: query_id,
      is_initial_query: 1,
      user: 'default',
      query,
      elapsed: (performance.now() - began) / 1_000,
      is_cancelled: cancelled.signal.aborted ? 1 : 0,
      Settings: {},
    })),
  );
}

function replicasRelation({ cluster, replica }: Asked): string {
  const active = cluster.replicas.filter((one) => isActive(cluster, one)).length;
  return rowsOf(
    'database String, table String, engine String, is_leader UInt8, is_readonly UInt8, ' +
      'is_session_expired UInt8, zookeeper_path String, replica_name String, ' +
      'queue_size UInt32, inserts_in_queue UInt32, log_max_index UInt64, log_pointer UInt64, ' +
      'absolute_delay UInt64, total_replicas UInt32, active_replicas UInt32, ' +
      'lost_part_count UInt64',
    [...replica.tables].map(([name, log]) => {
      const open = openEntries(log, replica.index).length;
      const [database = '', table = ''] = name.split('.');
      return {
        database,
        table,
        engine: 'ReplicatedMergeTree',
        is_leader: 1,
        is_readonly: cluster.keeper.is_away ? 1 : 0,
        is_session_expired: cluster.keeper.is_away ? 1 : 0,
        zookeeper_path: log.path,
        replica_name: replica.name,
        queue_size: open,
        inserts_in_queue: open,
        log_max_index: log.entries.length,
        log_pointer: log.entries.length - open,
        absolute_delay: 0,
        total_replicas: log.members.size,
        active_replicas: active,
        lost_part_count: log.entries.filter(({ state }) => state === 'void').length,
      };
    }),
  );
}

function clustersRelation({ cluster, replica }: Asked): string {
  const { settings, replicas } = cluster;
  const is_sharded = settings.weaknesses.has('there are several shards');
  return rowsOf(
    'cluster String, shard_num UInt32, shard_weight UInt32, internal_replication UInt8, ' +
      'replica_num UInt32, host_name String, host_address String, port UInt16, is_local UInt8, ' +
      'user String, default_database String, errors_count UInt32, database_shard_name String, ' +
      'database_replica_name String, is_active Nullable(UInt8)',
    replicas.map((one) => ({
      cluster: settings.cluster,
      shard_num: is_sharded ? one.index + 1 : 1,
      shard_weight: 1,
      internal_replication: 1,
      replica_num: one.index + 1,
      host_name: one.name,
      host_address: '127.0.0.1',
      port: 9000,
      is_local: one === replica ? 1 : 0,
      user: 'default',
      default_database: '',
      errors_count: 0,
      database_shard_name: '1',
      database_replica_name: one.name,
      is_active: isActive(cluster, one) ? 1 : 0,
    })),
  );
}

/** Returns the mutations that the engine has done, and those that it has not reached yet. */
function mutationsRelation({ cluster, replica }: Asked): string {
  const rows = [...replica.tables].flatMap(([name, log]) =>
    log.entries
      .filter(
        ({ kind, state, holders }) =>
          kind === 'change' && state !== 'void' && !holders.has(replica.index),
      )
      .map(({ number, text }) => {
        const [database, table] = nameIn(cluster.settings, name).split('.');
        return {
          database,
          table,
          mutation_id: String(number).padStart(10, '0'),
          command: text.replace(/^\s*ALTER\s+TABLE\s+\S+\s+/i, ''),
          create_time: Math.floor(Date.now() / 1_000),
          parts_to_do: 1,
          is_done: 0,
          is_killed: 0,
          latest_fail_reason: '',
        };
      }),
  );
  const columns =
    'database String, table String, mutation_id String, command String, create_time DateTime, ' +
    'parts_to_do Int64, is_done UInt8, is_killed UInt8, latest_fail_reason String';
  const names = columns
    .split(', ')
    .map((column) => column.split(' ')[0])
    .join(', ');
  return `(SELECT ${names} FROM system.mutations
    UNION ALL SELECT ${names} FROM ${rowsOf(columns, rows)})`;
}

/** Returns rows as a relation of the structure. */
function rowsOf(structure: string, rows: object[] | string): string {
  const is_text = typeof rows === 'string';
  const text = is_text ? rows : rows.map((row) => JSON.stringify(row)).join('\n');
  if (text === '') return `(SELECT * FROM null(${literal(structure)}))`;
  const format = is_text ? 'JSONCompactEachRow' : 'JSONEachRow';
  return `(SELECT * FROM format(${format}, ${literal(structure)}, ${literal(text)}))`;
}
