import type { FastifyInstance, RouteOptions } from 'fastify';
import { api_reference } from '../../server/api/reference/reference.ts';
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
import { publicDocument } from '../../server/platform/http/openapi/public_document.ts';
import type { Json, JsonObject } from '../../server/platform/http/openapi/json.ts';
import type { Part } from '../../server/platform/http/openapi/public_document.ts';
import { openDatabase } from '../../server/platform/postgres/database.ts';
import { openSecrets } from '../../server/platform/secrets/secrets.ts';
import { withoutDisk } from '../../test/without_disk.ts';
import { release } from '../../server/platform/version.ts';
import { compactJson } from './compact_json.ts';

// The document needs only the routes; nothing ever connects to these.
const nowhere = {
  database_url: 'postgresql://nobody@127.0.0.1:1/none',
  clickhouse_url: 'http://127.0.0.1:1',
};

/**
 * Returns the OpenAPI document of the API as the text of openapi.json: sorted, with short values on
 * one line, so that its diff shows the change of the API. It omits what has files of its own (the
 * examples, the introduction) and the commit. The same code gives the same text; no store is
 * needed.
 */
export async function openApiText(): Promise<string> {
  const { info, paths, components, ...rest } = await openApiDocument('api');
  const version = { ...(info as JsonObject), description: 'See /docs/.', version: release };
  const sorted = { ...rest, info: version, paths: byName(paths), components: byName(components) };
  return `${compactJson(sorted)}\n`;
}

function byName(value: Json | undefined): JsonObject {
  return Object.fromEntries(
    Object.entries(value as JsonObject).toSorted(([one], [other]) => (one < other ? -1 : 1)),
  );
}

/** Returns a document of the whole application, without examples. */
function openApiDocument(part: Part): Promise<JsonObject> {
  return withRoutes(({ app }) => publicDocument(app.swagger(), api_reference, part));
}

/** A complete application with all its routes. */
export type OpenRoutes = { app: FastifyInstance; routes: readonly RouteOptions[] };

/** Calls `use` with the application and all its routes; no store is needed. */
export async function withRoutes<Given>(use: (open: OpenRoutes) => Given): Promise<Given> {
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
  const routes: RouteOptions[] = [];
  app.addHook('onRoute', (route) => void routes.push(route));
  try {
    await app.ready();
    return use({ app, routes });
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
