import type { FastifyInstance } from 'fastify';
import { joinedConfig } from '../../../engine/model/destination/connection.ts';
import { destinationDeps } from '../../../engine/exports/engine.ts';
import type { Engine } from '../../../engine/exports/engine.ts';
import { models } from '../../../engine/model/models/index.ts';
import { body } from '../../../platform/http/bodies/body.ts';
import { refuseAgentBeside } from '../../../platform/http/caller/agent.ts';
import { uuidParameter } from '../../../platform/http/caller/access.ts';
import { invalidMany, missing } from '../../../platform/http/errors.ts';
import { isValidateOnly } from '../../../platform/http/lists/query.ts';
import { completedConfig } from '../body/destination_body.ts';
import { rulesFor } from '../body/operator_rules.ts';
import { openedConnection } from '../body/used_connection.ts';
import { DestinationTest } from '../drafts/schema.ts';
import { definitionOf, renamed } from './input.ts';
import { ConnectionTest } from './schema.ts';
import { findStoredConnection } from './store.ts';

/** `test/` of a connection. */
export function testRoute(app: FastifyInstance, engine: Engine, path: string): void {
  const schema = {
    summary: 'Test a connection',
    description:
      'Signs in at the other side and goes no further: nothing is written there. The test of a ' +
      'batch export writes a row. Where the type needs a bucket or a database to look for, ' +
      '`config` names it.',
    body: ConnectionTest,
    response: { 200: DestinationTest },
  };
  const config = { scope: 'batch_export:write', within: 'organization' } as const;
  app.post(path, { config, schema }, async (request) => {
    const { organization_id } = request.access;
    const stored = await findStoredConnection(
      engine.db,
      organization_id,
      uuidParameter(request, 'id'),
    );
    const used = openedConnection(engine, stored ?? missing());
    const { config: own = {} } = body(request, ConnectionTest);
    const definition = definitionOf(used.type);
    const given = joinedConfig(definition, used.config, own);
    const { config: whole, violations } = completedConfig(
      definition,
      given,
      rulesFor(engine, organization_id),
    );
    if (violations.length > 0) throw invalidMany(renamed(violations));
    if (isValidateOnly(request)) return { steps: [] };
    await refuseAgentBeside(engine.db, request);
    const deps = destinationDeps(engine, AbortSignal.timeout(60_000));
    const steps_max = definition.connection_steps ?? 1;
    const columns = models.events.columns[definition.column_set];
    return { steps: await definition.check(whole, columns, { ...deps, steps_max }) };
  });
}
