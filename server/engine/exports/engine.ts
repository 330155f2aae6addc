import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Logger } from '../../platform/log.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { Outbound } from '../../platform/outbound/outbound.ts';
import type { Database } from '../../platform/postgres/database.ts';
import type { Secrets } from '../../platform/secrets/secrets.ts';
import type { Tracer } from '../../platform/tracing/tracer.ts';
import type { QueryBudget } from '../query/query_budget.ts';
import type { AwsRoles } from '../model/destination/aws_roles.ts';
import type { DestinationDeps } from '../model/destination/destination.ts';
import { encodeRow } from '../destinations/formats/encode_row.ts';
import type { QueryLimits } from '../query/settings.ts';

/** The outside parts that planning and execution of exports use. */
export type Engine = {
  db: Database;
  clickhouse: ClickHouse;
  clock: Clock;
  log: Logger;
  secrets: Secrets;
  outbound: Outbound;
  metrics: Metrics;
  /** undefined: traces are off */
  tracer: Tracer | undefined;
  export_dir: string;
  /**
   * True if the operator lets S3 destinations without an access key use the server's own
   * credentials.
   */
  has_environment_credentials: boolean;
  aws_roles: AwsRoles;
  settle_seconds: number;
  /** Longest time without progress of a destination before the attempt ends. */
  destination_silence_seconds_max: number;
  /** Sluice pauses an export after this many failed runs in a row; 0: never. */
  pause_after_failures: number;
  /** Limits of one custom query in the analytics store. */
  query_limits: QueryLimits;
  /** The memory that all custom queries of the process share. */
  query_budget: QueryBudget;
};

/**
 * Returns the parts that a destination may use for one piece of work. The signal ends the work;
 * answers of the destination call `noteProgress`.
 */
export function destinationDeps(
  engine: Engine,
  signal: AbortSignal,
  noteProgress: () => void = () => undefined,
): DestinationDeps {
  const { clickhouse, db, clock, log, outbound, export_dir, aws_roles } = engine;
  return {
    db,
    clock,
    log,
    outbound,
    export_dir,
    has_environment_credentials: engine.has_environment_credentials,
    aws_roles,
    signal,
    noteProgress,
    encodeRow: (row, encoding) => encodeRow(clickhouse, row, encoding, signal),
  };
}
