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

/** Everything that a route, a command or the worker needs from outside. Tests pass their own. */
export type Deps = {
  config: Config;
  clock: Clock;
  log: Logger;
  db: Database;
  clickhouse: ClickHouse;
  secrets: Secrets;
  outbound: Outbound;
  /** Looks up the DNS records that prove a domain. */
  dns: Dns;
  /** Sends mails, with one attempt each; answers false if no relay is set. */
  mail: Mail;
  /**
   * Stores mails in the transaction of the change that they report, and sends them until the relay
   * accepts them.
   */
  outbox: Outbox;
  /** Records refused requests, apart from the requests' own transactions. */
  security_log: SecurityLog;
  metrics: Metrics;
  /** undefined: traces are off */
  tracer: Tracer | undefined;
  /** The free disk space of the stores. */
  disk: DiskRoom;
  /** The memory of the analytics store that custom queries of the process share. */
  query_budget: QueryBudget;
  /** The sandbox of plugins. */
  sandbox: Sandbox;
  /** The parts that planning and executing exports use. */
  engine: Engine;
};
