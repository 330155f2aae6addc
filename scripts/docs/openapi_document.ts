import { buildApp } from '../../server/app.ts';
import { readConfig } from '../../server/config/config.ts';
import { withEngine } from '../../server/with_engine.ts';
import { openQueryBudget } from '../../server/engine/query/query_budget.ts';
import { openSandbox } from '../../server/engine/plugins/sandbox/sandbox.ts';
import { openClickHouse } from '../../server/platform/clickhouse/client.ts';
import { systemClock } from '../../server/platform/clock.ts';
import { openDns } from '../../server/platform/dns/dns.ts';
import { silentLog } from '../../server/platform/log.ts';
import { openMail } from '../../server/platform/mail/mail.ts';
import { openOutbound } from '../../server/platform/outbound/outbound.ts';
import { openDatabase } from '../../server/platform/postgres/database.ts';
import { openSecrets } from '../../server/platform/secrets/secrets.ts';
import { withoutDisk } from '../../test/without_disk.ts';

// The document comes from the routes alone: nothing ever connects to these.
const nowhere = {
  database_url: 'postgresql://nobody@127.0.0.1:1/none',
  clickhouse_url: 'http://127.0.0.1:1',
};

/**
 * The OpenAPI document of the whole application, as the text of openapi.json. The same code gives
 * the same text; no store is needed.
 */
export async function openApiText(): Promise<string> {
  const outbound = openOutbound({ allow: [] });
  const deps = withEngine({
    config: readConfig({}),
    clock: systemClock,
    log: silentLog(),
    db: openDatabase(nowhere.database_url, {
      connections_max: 1,
      application_name: 'sluice-openapi',
    }),
    clickhouse: openClickHouse(nowhere.clickhouse_url, { application: 'sluice-openapi' }),
    secrets: openSecrets('the document holds no secret, so any will do'),
    outbound,
    dns: openDns({ servers: ['127.0.0.1:1'], log: silentLog() }),
    mail: openMail({
      url: undefined,
      from: 'sluice@example.com',
      log: silentLog(),
      clock: systemClock,
    }),
    query_budget: openQueryBudget(1),
    sandbox: await openSandbox({
      outbound,
      log: silentLog(),
      clock: systemClock,
      public_url: 'http://127.0.0.1',
    }),
    tracer: undefined,
    ...withoutDisk(silentLog()),
  });
  const app = buildApp(deps);
  try {
    await app.ready();
    return `${JSON.stringify(app.swagger(), null, 2)}\n`;
  } finally {
    await app.close();
    await Promise.all([
      deps.db.close(),
      deps.clickhouse.close(),
      outbound.close(),
      deps.sandbox.close(),
    ]);
  }
}
