import type { ClickHouse } from '../platform/clickhouse/client.ts';
import type { Clock } from '../platform/clock.ts';
import type { Logger } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Outbound } from '../platform/outbound.ts';
import type { Database } from '../platform/postgres/database.ts';
import type { Secrets } from '../platform/secrets.ts';
import type { Jobs } from './jobs.ts';
import type { QueryBudget } from './query_budget.ts';
import type { QueryLimits } from './query/settings.ts';

/** What planning and executing exports need from outside. */
export type Engine = {
  db: Database;
  clickhouse: ClickHouse;
  clock: Clock;
  log: Logger;
  secrets: Secrets;
  outbound: Outbound;
  metrics: Metrics;
  jobs: Jobs;
  export_dir: string;
  settle_seconds: number;
  /** What one custom query may take of the analytics store. */
  query_limits: QueryLimits;
  /** The memory that all custom queries of the process share. */
  query_budget: QueryBudget;
};
