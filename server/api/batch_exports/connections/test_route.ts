import type { FastifyInstance, FastifyRequest } from 'fastify';
import { joinedConfig } from '../../../engine/model/destination/connection.ts';
import { destinationDeps } from '../../../engine/exports/engine.ts';
import type { Engine } from '../../../engine/exports/engine.ts';
import { models } from '../../../engine/model/models/index.ts';
import { body } from '../../../platform/http/bodies/body.ts';
import { refuseAgentBeside } from '../../../platform/http/caller/agent.ts';
import { uuidParameter } from '../../../platform/http/caller/access.ts';
import { invalidMany, missing } from '../../../platform/http/errors.ts';
import type { Violation } from '../../../platform/http/errors.ts';
import { isValidateOnly } from '../../../platform/http/lists/query.ts';
import { completedConfig } from '../body/destination_body.ts';
import type { Destination, FullConfig } from '../body/destination_body.ts';
import { rulesFor } from '../body/operator_rules.ts';
import { openedConnection } from '../body/used_connection.ts';
import { DestinationTest } from '../drafts/schema.ts';
import { changedKeys, checkedKeys, definitionOf, renamed } from './input.ts';
import { ConnectionTest, NewConnectionTest } from './schema.ts';
import { findStoredConnection } from './store.ts';

const config = { scope: 'batch_export:write', within: 'organization' } as const;

/** Routes `test/` of a connection, stored or not. */
export function testRoutes(app: FastifyInstance, engine: Engine, list: string): void {
  const schema = {
    summary: 'Test a connection',
    description:
      'Signs in at the other side and goes no further: nothing is written there. The test of a ' +
      'batch export writes a row. Where the type needs a bucket or a database to look for, ' +
      '`config` names it. With `connection` it tests a change before you save it; where that ' +
      'leads stored secrets elsewhere, send them again.',
    body: ConnectionTest,
    response: { 200: DestinationTest },
  };
  app.post(`${list}:id/test/`, { config, schema }, async (request) => {
    const { organization_id } = request.access;
    const stored = await findStoredConnection(
      engine.db,
      organization_id,
      uuidParameter(request, 'id'),
    );
    const used: Destination = openedConnection(engine, stored ?? missing());
    const { config: own = {}, connection } = body(request, ConnectionTest);
    if (connection === undefined) return tested(engine, request, used, own);
    const changed = changedKeys(used, connection, 'merge', rulesFor(engine, organization_id));
    refuse(changed.violations);
    return tested(engine, request, { type: used.type, config: changed.config }, own);
  });
  app.post(
    `${list}test/`,
    {
      config,
      schema: {
        ...schema,
        summary: 'Test a connection before it is created',
        description: 'Takes the keys of the connection as `connection`, and stores nothing.',
        body: NewConnectionTest,
      },
    },
    (request) => {
      const { type, connection, config: own = {} } = body(request, NewConnectionTest);
      const rules = rulesFor(engine, request.access.organization_id);
      const checked = checkedKeys(type, connection, rules);
      refuse(checked.violations);
      return tested(engine, request, { type, config: checked.config }, own);
    },
  );
}

/** Throws one 400 that names the keys of the connection as in the body of a test. */
function refuse(violations: Violation[]): void {
  if (violations.length === 0) return;
  throw invalidMany(
    violations.map((one) => ({
      ...one,
      attr: one.attr?.replace(/^config__/, 'connection__') ?? null,
    })),
  );
}

/** Runs the steps of the test of a connection, with keys of an export. */
async function tested(
  engine: Engine,
  request: FastifyRequest,
  { type, config: used }: Destination,
  own: FullConfig,
) {
  const definition = definitionOf(type);
  const { config: whole, violations } = completedConfig(
    definition,
    joinedConfig(definition, used, own),
    rulesFor(engine, request.access.organization_id),
  );
  if (violations.length > 0) throw invalidMany(renamed(violations));
  if (isValidateOnly(request)) return { steps: [] };
  await refuseAgentBeside(engine.db, request);
  const deps = destinationDeps(engine, AbortSignal.timeout(60_000));
  const steps_max = definition.connection_steps ?? 1;
  const columns = models.events.columns[definition.column_set];
  return { steps: await definition.check(whole, columns, { ...deps, steps_max }) };
}
