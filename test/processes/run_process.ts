// A process that delivers one run like a worker, on the stores of a test, which kills it in the
// middle. Argument: JSON of `RunOrders`. It ends with its parent.
import { randomUUID } from 'node:crypto';
import { readConfig } from '../../server/config/config.ts';
import { queryLimits } from '../../server/engine/query/custom_query.ts';
import { openQueryBudget } from '../../server/engine/query/query_budget.ts';
import { claimRun } from '../../server/engine/exports/workers/claims.ts';
import { executeRun } from '../../server/engine/exports/delivery/execute.ts';
import { openClickHouse } from '../../server/platform/clickhouse/client.ts';
import { systemClock } from '../../server/platform/clock.ts';
import { silentLog } from '../../server/platform/log.ts';
import { openMetrics } from '../../server/platform/metrics.ts';
import { openOutbound } from '../../server/platform/outbound/outbound.ts';
import { openDatabase } from '../../server/platform/postgres/database.ts';
import { openSecrets } from '../../server/platform/secrets/secrets.ts';
import { rerouted } from '../servers/object_stores/gcs_server.ts';
import type { RunOrders } from './killed_run.ts';

const { database_url, clickhouse_url, run_id, google } = JSON.parse(
  process.argv[2] ?? '',
) as RunOrders;
process.stdin.resume().on('end', () => process.exit());

const config = readConfig({});
const application = 'sluice-test';
const query_budget = openQueryBudget(64 * 1024 * 1024);
const outbound = openOutbound({ allow: ['127.0.0.0/8'] });
const db = openDatabase(database_url, { connections_max: 4, application_name: application });
const run = await claimRun(db, run_id, randomUUID());
if (run === undefined) throw new Error('The run does not wait.');
await executeRun(
  {
    db,
    clickhouse: openClickHouse(clickhouse_url, { application }),
    clock: systemClock,
    log: silentLog(),
    secrets: openSecrets('a secret that only tests have, 32 or more'),
    outbound: google === undefined ? outbound : rerouted(outbound, google),
    metrics: openMetrics({ process_metrics: false }),
    tracer: undefined,
    export_dir: config.export_dir,
    has_environment_credentials: false,
    aws_roles: { principal: config.aws_principal, sts_endpoint_url: config.sts_endpoint_url },
    settle_seconds: 1,
    destination_silence_seconds_max: config.destination_silence_seconds_max,
    pause_after_failures: 0,
    query_limits: queryLimits(config, query_budget),
    query_budget,
  },
  run,
  new AbortController().signal,
);
throw new Error('The run has ended before it was killed.');
