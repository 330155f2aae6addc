import type { Config } from './config/config.ts';
import type { Engine } from './engine/exports/engine.ts';
import type { QueryBudget } from './engine/query/query_budget.ts';
import type { Sandbox } from './engine/plugins/sandbox/sandbox.ts';
import type { SecurityLog } from './platform/http/security_log/security_log.ts';
import type { Clock } from './platform/clock.ts';
import type { ClickHouse } from './platform/clickhouse/client.ts';
import type { DiskRoom } from './platform/disk/disk_room.ts';
import type { Logger } from './platform/log.ts';
import type { Dns } from './platform/dns/dns.ts';
import type { Mail } from './platform/mail/mail.ts';
import type { Outbox } from './platform/mail/outbox.ts';
import type { Metrics } from './platform/metrics.ts';
import type { Outbound } from './platform/outbound/outbound.ts';
import type { Database } from './platform/postgres/database.ts';
import type { Secrets } from './platform/secrets/secrets.ts';
import type { Tracer } from './platform/tracing/tracer.ts';

/** Everything that a route, a command or the worker needs from outside; tests pass their own. */
export type Deps = {
  config: Config;
  clock: Clock;
  log: Logger;
  db: Database;
  clickhouse: ClickHouse;
  secrets: Secrets;
  outbound: Outbound;
  /** Looks up what proves a domain. */
  dns: Dns;
  /** The way out for mails, with one attempt; answers false to each when no relay is set. */
  mail: Mail;
  /** Takes mails in the transaction of what they tell of, and sends them until they are out. */
  outbox: Outbox;
  /** Notes what is refused, beside the requests. */
  security_log: SecurityLog;
  metrics: Metrics;
  /** undefined: traces are off */
  tracer: Tracer | undefined;
  /** The room that the stores have on their disks. */
  disk: DiskRoom;
  /** The memory of the analytics store that all custom queries of the process share. */
  query_budget: QueryBudget;
  /** The sandbox of plugins. */
  sandbox: Sandbox;
  /** The parts that planning and executing exports use. */
  engine: Engine;
};
