import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import sql from 'sql-template-tag';
import { eventually } from '../eventually.ts';
import type { Harness } from '../harness.ts';
import type { FaultyServer } from '../servers/faulty_server.ts';

/** The orders for test/processes/run_process.ts; `google` replaces Google's token service. */
export type RunOrders = {
  database_url: string;
  clickhouse_url: string;
  run_id: string;
  google?: string | undefined;
};

/**
 * Delivers a run in a separate process, and ends that by SIGKILL while the server holds the next
 * matching request. The run then waits for another worker.
 */
export async function killRun(
  { stores, deps }: Pick<Harness, 'stores' | 'deps'>,
  orders: Pick<RunOrders, 'run_id' | 'google'>,
  server: Pick<FaultyServer, 'holdNext' | 'requests'>,
  pattern: RegExp,
): Promise<void> {
  const { database_url, clickhouse_url } = stores;
  const given: RunOrders = { database_url, clickhouse_url, ...orders };
  const seen = server.requests.length;
  server.holdNext(pattern);
  const program = fileURLToPath(new URL('./run_process.ts', import.meta.url));
  const child = spawn(process.execPath, [program, JSON.stringify(given)], {
    stdio: ['pipe', 'inherit', 'inherit'],
  });
  const ended = once(child, 'exit');
  try {
    await eventually('the request has not come', () => {
      if (child.exitCode !== null) throw new Error('The run ended before it could be killed.');
      return server.requests.slice(seen).some((request) => pattern.test(request));
    });
  } finally {
    child.kill('SIGKILL');
    await ended;
  }
  // The silence after which a worker counts as dead is over.
  await deps.db.run(sql`UPDATE batch_export_runs SET worker_id = NULL WHERE id = ${orders.run_id}`);
}
