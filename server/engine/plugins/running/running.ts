import type { ClickHouse } from '../../../platform/clickhouse/client.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Logger } from '../../../platform/log.ts';
import type { Metrics } from '../../../platform/metrics.ts';
import type { Outbound } from '../../../platform/outbound/outbound.ts';
import type { Database } from '../../../platform/postgres/database.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import type { Ingestion } from '../../ingest/batcher.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { PluginWorker } from './sending/account.ts';
import type { Trace } from '../trace/trace.ts';

/** The outside parts that running plugins use. */
export type Running = {
  db: Database;
  clickhouse: ClickHouse;
  clock: Clock;
  log: Logger;
  secrets: Secrets;
  outbound: Pick<Outbound, 'fetch'>;
  sandbox: Sandbox;
  metrics: Pick<Metrics, 'tool_events' | 'tool_delay_seconds'>;
  /** Records the requests to tools. */
  trace: Trace;
  /** This process, and its claimed accounts. */
  worker: PluginWorker;
  /** The writer of captured events. */
  ingestion: Ingestion;
  /** Sluice stops a config after this many failures in a row. */
  failures_max: number;
  /**
   * The pause after the first temporary failure; it doubles with each further one, up to an hour.
   */
  retry_seconds: number;
};
