import type { Deps } from './deps.ts';
import { queryLimits } from './engine/query/custom_query.ts';

/** What a process has, together with the export engine on it. */
export function withEngine(parts: Omit<Deps, 'engine'>): Deps {
  const { db, clickhouse, clock, log, secrets, outbound, metrics, config, query_budget } = parts;
  return {
    ...parts,
    engine: {
      db,
      clickhouse,
      clock,
      log,
      secrets,
      outbound,
      metrics,
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
