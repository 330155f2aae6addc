import type { FastifyRequest } from 'fastify';
import type { DestinationDefinition } from '../../../engine/destination/destination.ts';
import { loadConfig } from '../../../engine/destination/stored_config.ts';
import { findDestination } from '../../../engine/destinations/index.ts';
import type { Engine } from '../../../engine/engine.ts';
import type { Column } from '../../../engine/models/column.ts';
import { models } from '../../../engine/models/index.ts';
import { jsonBody } from '../../../platform/http/body.ts';
import { conflict, invalid, invalidMany } from '../../../platform/http/errors.ts';
import { completedConfig } from '../body/destination_body.ts';
import type { Destination, FullConfig } from '../body/destination_body.ts';
import { noProject } from '../create.ts';
import { getLockedExport } from '../found.ts';
import { checkedInput, isRecord } from '../body/input.ts';
import { openQueryCheck } from '../body/query_check.ts';
import type { QueryCheck } from '../body/query_check.ts';
import { BatchExportPatch, NewBatchExport } from '../schema.ts';
import { trialViolations } from '../body/stored_secrets.ts';
import { findTargetProject } from '../store.ts';

/** An export as it would be, secrets included: to be tried, never to be answered or stored. */
export type Draft = {
  definition: DestinationDefinition;
  config: FullConfig;
  team_id: number;
  model: 'events' | 'persons';
  custom_query: string | null;
  columns: Column[];
};

/** The export that a body of POST describes; throws 400 as POST does. */
export async function newDraft(engine: Engine, request: FastifyRequest): Promise<Draft> {
  const raw = jsonBody(request);
  const query = await openQueryCheck(engine)(raw, undefined);
  const { fields, sink } = checkedInput(engine, NewBatchExport, raw, undefined, 'replace', query);
  const project = await engine.db.transaction((tx) =>
    findTargetProject(tx, request.access, fields.team_id),
  );
  if (project === undefined) throw noProject(request.access, fields.team_id);
  const { definition, destination } = sink!;
  return {
    definition,
    config: destination.config,
    team_id: project.id,
    ...contentOf(definition, query),
  };
}

/** The export that the path names, with the changes that a body of PATCH describes; stored secrets need not be sent, unless they would go elsewhere. Throws 404 and 400 as PATCH does. */
export async function changedDraft(engine: Engine, request: FastifyRequest): Promise<Draft> {
  const row = await engine.db.transaction((tx) => getLockedExport(request, tx));
  const before = { type: row.destination_type, config: loadConfig(engine.secrets, row.id, row) };
  const raw = jsonBody(request);
  const query = await openQueryCheck(engine)(raw, row);
  const { sink } = checkedInput(
    engine,
    BatchExportPatch,
    raw,
    { ...row, destination: before },
    'merge',
    query,
  );
  const definition = sink?.definition ?? findDestination(before.type);
  if (definition === undefined)
    throw conflict(`This server has no destination of type ${before.type}.`);
  if (sink !== undefined) requireSecrets(engine, definition, before, sink.destination, raw);
  return {
    definition,
    config: sink?.destination.config ?? before.config,
    team_id: row.team_id,
    ...contentOf(definition, query),
  };
}

function requireSecrets(
  engine: Engine,
  definition: DestinationDefinition,
  before: Destination,
  tried: Destination,
  raw: unknown,
): void {
  const destination = isRecord(raw) ? raw['destination'] : undefined;
  const config = isRecord(destination) ? destination['config'] : undefined;
  const sent = new Set(isRecord(config) ? Object.keys(config) : []);
  // A key that a later version added has its default in what is tried; that is no change.
  const stored = {
    type: before.type,
    config: completedConfig(definition, before.config, engine).config,
  };
  const violations = trialViolations(definition, stored, tried, sent);
  if (violations.length > 0) throw invalidMany(violations);
}

function contentOf(
  definition: DestinationDefinition,
  { content, columns }: QueryCheck,
): Pick<Draft, 'model' | 'custom_query' | 'columns'> {
  const { model, custom_query } = content;
  if (custom_query === null)
    return { model, custom_query, columns: models[model].columns[definition.column_set] };
  if (columns === undefined)
    throw invalid(
      'custom_query',
      'invalid_input',
      'The stored query is not understood any more: send it again to see what is wrong with it.',
    );
  return { model, custom_query, columns };
}
