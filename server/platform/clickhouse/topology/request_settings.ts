import type { ClickHouseSettings } from '@clickhouse/client';
import type { Mode } from './mode.ts';

/** Time limit of an insert that waits for a majority of the replicas. */
export const quorum_seconds = 10;
const written_anew = {
  // Only a batch has a token; rows written again after a removal are no repetition.
  insert_deduplicate: 0,
  // Rows of other tables that a condition reads are on each replica before the condition is sent.
  allow_nondeterministic_mutations: 1,
} as const;
/** Time limit of a statement that runs on all replicas. */
export const ddl_seconds = 60;

/**
 * Returns the settings of every request to a store of this mode; none for one node. An insert is
 * acknowledged once a majority of the replicas has it, because a single replica could be lost with
 * it. In the cloud, nodes share one storage, and a node may lag behind the latest state.
 */
export function requestSettings(mode: Mode): ClickHouseSettings {
  switch (mode.kind) {
    case 'one_node':
      return {};
    case 'cloud':
      return { select_sequential_consistency: '1', ...written_anew };
    case 'replicated_database':
    case 'on_cluster':
      return {
        insert_quorum: 'auto',
        insert_quorum_parallel: 1,
        insert_quorum_timeout: quorum_seconds * 1_000,
        ...written_anew,
        // Queries are not spread over several replicas, because projections must answer them.
        enable_parallel_replicas: 0,
        alter_sync: '2',
        distributed_ddl_output_mode: 'null_status_on_timeout',
        distributed_ddl_task_timeout: String(ddl_seconds),
      };
  }
}

/**
 * Additional settings for the insert of a batch. One parser and no splitting, in every mode: the
 * whole batch is one block and so one part, which appears completely or not at all. One node ends
 * the insert at its time limit. Replicas never do: an insert that is cut off during agreement may
 * leave its token without its rows. There, the token shows whether the batch was accepted.
 */
export function batchSettings(
  mode: Mode,
  { token, milliseconds }: { token: string; milliseconds: number },
): ClickHouseSettings {
  return {
    async_insert: 0,
    ...(mode.kind === 'one_node'
      ? { max_execution_time: milliseconds / 1_000 }
      : { insert_deduplicate: 1 as const, insert_deduplication_token: token }),
    input_format_parallel_parsing: 0,
    max_insert_block_size: '1048576',
    min_insert_block_size_rows: '1048576',
    min_insert_block_size_bytes: '1073741824',
  };
}
