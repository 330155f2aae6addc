import { noteMailTaken } from './api/invites/mailing.ts';
import type { Deps } from './deps.ts';
import { queryLimits } from './engine/query/custom_query.ts';
import { beginCounts } from './engine/runs/first_counts.ts';
import { openOutbox } from './platform/mail/outbox.ts';

/** What a process has, together with the export engine and the outbox of mails on it. */
export function withEngine(parts: Omit<Deps, 'engine' | 'outbox'>): Deps {
  const { db, clickhouse, clock, log, secrets, outbound, metrics, tracer, config, query_budget } =
    parts;
  beginCounts(metrics);
  return {
    ...parts,
    outbox: openOutbox({ ...parts, onTaken: noteMailTaken }),
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
      settle_seconds: config.settle_seconds,
      destination_silence_seconds_max: config.destination_silence_seconds_max,
      pause_after_failures: config.pause_after_failures,
      query_limits: queryLimits(config, query_budget),
      query_budget,
    },
  };
}
