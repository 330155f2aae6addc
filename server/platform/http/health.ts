import type { FastifyInstance } from 'fastify';
import sql from 'sql-template-tag';
import type { HttpContext } from './context.ts';

const ready_timeout_ms = 3_000;

/** Adds /healthz (the process runs), /readyz (its stores answer within 3 s, else 503) and /metrics (Prometheus, without anything about callers). */
export function serveHealth(app: FastifyInstance, context: HttpContext): void {
  const options = {
    config: { scope: 'public' as const, accepts_anything: true },
    schema: { hide: true },
  };
  app.get('/healthz', options, () => ({ status: 'ok' }));
  app.get('/readyz', options, async (_request, reply) => {
    const [postgres, clickhouse] = await Promise.all([
      answers(context.db.row(sql`SELECT 1`).then(() => true)),
      answers(context.clickhouse.ping().then((pong) => pong.success)),
    ]);
    const ready = postgres && clickhouse;
    void reply.code(ready ? 200 : 503);
    return {
      status: ready ? 'ok' : 'unavailable',
      postgres: postgres ? 'ok' : 'unavailable',
      clickhouse: clickhouse ? 'ok' : 'unavailable',
    };
  });
  app.get('/metrics', options, async (_request, reply) =>
    reply.type(context.metrics.registry.contentType).send(await context.metrics.registry.metrics()),
  );
}

async function answers(question: Promise<boolean>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), ready_timeout_ms);
  });
  return Promise.race([question, late])
    .catch(() => false)
    .finally(() => clearTimeout(timer));
}
