import { noteMailTaken } from './api/invites/mailing.ts';
import type { Deps } from './deps.ts';
import { queryLimits } from './engine/query/custom_query.ts';
import { beginCounts } from './engine/exports/runs/first_counts.ts';
import { openSecurityLog } from './platform/http/security_log/security_log.ts';
import { openOutbox } from './platform/mail/outbox.ts';

/** The parts of a process, with the export engine, the outbox of mails and the security log. */
export function withEngine(parts: Omit<Deps, 'engine' | 'outbox' | 'security_log'>): Deps {
  const { db, clickhouse, clock, log, secrets, outbound, metrics, tracer, config, query_budget } =
    parts;
  beginCounts(metrics);
  return {
    ...parts,
    outbox: openOutbox({ ...parts, onTaken: noteMailTaken }),
    security_log: openSecurityLog(parts),
    engine: {
      db,
      clickhouse,
      clock,
      log,
      secrets,
      outbound,
      metrics,
      tracer,
      export_dir: config.export_dir,
      has_environment_credentials: config.s3_environment_credentials,
      aws_roles: { principal: config.aws_principal, sts_endpoint_url: config.sts_endpoint_url },
      settle_seconds: config.settle_seconds,
      destination_silence_seconds_max: config.destination_silence_seconds_max,
      pause_after_failures: config.pause_after_failures,
      query_limits: queryLimits(config, query_budget),
      query_budget,
    },
  };
}
