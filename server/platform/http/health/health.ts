import type { FastifyInstance } from 'fastify';
import sql from 'sql-template-tag';
import { judgeStandbys, readStandbys } from '../../postgres/control_store.ts';
import { version } from '../../version.ts';
import type { HttpContext } from '../context.ts';
import { isDraining } from './drain.ts';
import { hiddenRoute } from '../hidden_route.ts';

const ready_timeout_ms = 3_000;

/**
 * Adds /healthz, /readyz and /metrics. /healthz reports that the process runs, its release and the
 * disk space. /readyz is 503 unless the stores answer within 3 s, the first start has created what
 * it prints, and the server is not stopping. /metrics is for Prometheus, without data about
 * callers.
 */
export function serveHealth(
  app: FastifyInstance,
  context: Pick<HttpContext, 'db' | 'clickhouse' | 'metrics' | 'disk'>,
): void {
  const json = ['application/json'];
  app.get('/healthz', hiddenRoute({ 200: json }), () => ({
    status: 'ok',
    version,
    // Only in a process that ingests events.
    disk: context.disk.state(),
  }));
  app.get('/readyz', hiddenRoute({ 200: json, 503: json }), async (request, reply) => {
    if (isDraining(request.server)) return reply.code(503).send({ status: 'stopping' });
    // The server listens before the first owner and key exist, and ready means that a key works.
    const started = sql`SELECT EXISTS (SELECT 1 FROM server_facts
        WHERE name = 'first_start') AS is_done,
      current_setting('transaction_read_only') = 'off' AS takes_writes`;
    const [first_start, clickhouse, standbys] = await Promise.all([
      answer(context.db.row<{ is_done: boolean; takes_writes: boolean }>(started)),
      answer(context.clickhouse.ping()),
      answer(readStandbys(context.db)),
    ]);
    const postgres = first_start?.takes_writes === true;
    const answering = postgres && clickhouse?.success === true;
    const ready = answering && first_start.is_done;
    void reply.code(ready ? 200 : 503);
    return {
      status: ready ? 'ok' : answering ? 'starting' : 'unavailable',
      postgres: postgres ? 'ok' : 'unavailable',
      clickhouse: clickhouse?.success === true ? 'ok' : 'unavailable',
      // Reports whether a standby of PostgreSQL has the acknowledged data too.
      ...(standbys === undefined ? {} : { standby: judgeStandbys(standbys) }),
    };
  });
  app.get('/metrics', hiddenRoute({ 200: ['text/plain'] }), async (_request, reply) =>
    reply.type(context.metrics.registry.contentType).send(await context.metrics.registry.metrics()),
  );
}

/** Returns the result of the query, or undefined if it fails or takes too long. */
async function answer<Result>(question: Promise<Result>): Promise<Result | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ready_timeout_ms);
  });
  return Promise.race([question, late])
    .catch(() => undefined)
    .finally(() => clearTimeout(timer));
}
