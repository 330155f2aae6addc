import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import { onEachReplica } from '../../platform/clickhouse/topology/caught_up.ts';
import { findLacking } from '../../platform/clickhouse/topology/require_everywhere.ts';
import { findFacts } from '../../platform/clickhouse/topology/detect.ts';
import { versionWarning } from '../../platform/clickhouse/topology/versions.ts';
import type { Mode } from '../../platform/clickhouse/topology/mode.ts';
import { fault, ok, warning } from './finding.ts';
import type { Finding } from './finding.ts';

/** Seconds a replica may lag before doctor warns. */
const delay_seconds_max = 60;

type ReplicaState = {
  host: string;
  version: string;
  is_readonly: number;
  delay: number;
  queue: number;
  active: number;
  total: number;
};

/** Reports the topology of the analytics store and the state of its replicas. */
export async function lookAtCluster(clickhouse: ClickHouse): Promise<Finding[]> {
  const { mode } = clickhouse;
  const { version } = await findFacts(clickhouse);
  const found = ok('ClickHouse', `${version}, ${told(mode)}`);
  if (mode.kind === 'one_node' || mode.kind === 'cloud') return [found];
  let versions = [version];
  const findings = await orFault(async () => {
    const states = await onEachReplica(clickhouse, [], () => stateOf(clickhouse));
    versions = states.map((state) => state.version);
    return states.map(judge);
  });
  const tables = await orFault(async () => tableFindings(await findLacking(clickhouse)));
  const care = versionWarning(versions);
  return [
    found,
    ...(care === undefined ? [] : [warning('ClickHouse', care)]),
    // Both findings report an unreachable replica, so one is dropped.
    ...tables.filter(({ subject }) => !findings.some((one) => one.subject === subject)),
    ...findings,
  ];
}

async function orFault(look: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await look();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [fault('replicas', `some of them did not answer: ${reason}`)];
  }
}

function tableFindings(lacking: string | undefined): Finding[] {
  if (lacking === undefined) return [];
  return [
    fault(
      'tables',
      `they differ between replicas: ${lacking}. See docs/clickhouse_cluster.md, "Adding a ` +
        'replica".',
    ),
  ];
}

function told(mode: Mode): string {
  switch (mode.kind) {
    case 'one_node':
      return 'one node';
    case 'cloud':
      return 'ClickHouse Cloud';
    case 'replicated_database':
      return `the Replicated database ${mode.database}`;
    case 'on_cluster':
      return `the cluster ${mode.cluster}`;
  }
}

async function stateOf(clickhouse: ClickHouse): Promise<ReplicaState> {
  const found = await clickhouse.rows<ReplicaState>({
    query: `SELECT hostName() AS host, version() AS version, max(is_readonly) AS is_readonly,
        toUInt32(max(absolute_delay)) AS delay, toUInt32(max(queue_size)) AS queue,
        toUInt32(min(active_replicas)) AS active, toUInt32(max(total_replicas)) AS total
      FROM system.replicas WHERE database = currentDatabase()`,
  });
  return found[0]!;
}

function judge({ host, is_readonly, delay, queue, active, total }: ReplicaState): Finding {
  const subject = `replica ${host}`;
  if (is_readonly === 1)
    return fault(subject, 'is read only: it has lost the coordination service (Keeper).');
  if (delay > delay_seconds_max)
    return warning(subject, `is ${delay} s behind, with ${queue} parts to fetch or merge.`);
  if (active < total) return warning(subject, `sees ${active} of ${total} replicas.`);
  return ok(subject, `${delay} s behind, ${queue} in its queue`);
}
