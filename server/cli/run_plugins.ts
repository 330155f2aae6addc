import type { Deps } from '../deps.ts';
import { openIngestion } from '../engine/ingest/batcher.ts';
import { openTrace } from '../engine/plugins/trace/trace.ts';
import { openPluginWorker } from '../engine/plugins/running/sending/account.ts';
import { startPluginRunner } from '../engine/plugins/running/runner.ts';

/** Time for which an idle plugin stays loaded. */
const idle_seconds = 60;
/** Delay after the first failure; ten consecutive failures take about forty minutes. */
const retry_seconds = 5;

/**
 * Runs plugins in this process until `stop`, which resolves after everything has reached a safe
 * point and is stored. The options are for tests, which cannot wait.
 */
export function runPlugins(
  deps: Deps,
  options: { retry_seconds?: number; idle_seconds?: number } = {},
): { stop(): Promise<void> } {
  const { config } = deps;
  const ingestion = openIngestion(deps);
  const running = {
    ...deps,
    ingestion,
    trace: openTrace(deps.clickhouse, deps.clock, deps.log),
    worker: openPluginWorker(),
    failures_max: config.plugin_failures_max,
    retry_seconds: options.retry_seconds ?? retry_seconds,
  };
  const runner = startPluginRunner(running, {
    configs_max: config.plugins_max,
    idle_seconds: options.idle_seconds ?? idle_seconds,
  });
  return {
    stop: async () => {
      await runner.stop();
      await running.trace.flush();
      await ingestion.drain();
    },
  };
}
