import type { FastifyRequest } from 'fastify';
import type { DestinationDefinition } from '../../../engine/model/destination/destination.ts';
import { findDestination } from '../../../engine/destinations/index.ts';
import type { WriteRule } from '../../../engine/model/destination/write_mode.ts';
import type { Engine } from '../../../engine/exports/engine.ts';
import type { Column } from '../../../engine/model/models/column.ts';
import { models } from '../../../engine/model/models/index.ts';
import { jsonBody } from '../../../platform/http/bodies/body.ts';
import { conflict, invalid } from '../../../platform/http/errors.ts';
import { withOwnNames } from '../aliases.ts';
import type { FullConfig } from '../body/destination_body.ts';
import { getLockedExport } from '../found.ts';
import { checkChangedExport } from '../body/changed_export.ts';
import { checkNewExport } from '../body/new_export.ts';
import { checkContent } from '../body/query_check.ts';
import { checkConnection } from '../body/used_connection.ts';
import type { QueryCheck } from '../body/query_check.ts';
import type { ModelName } from '../../../engine/model/models/model.ts';

/** An export as it would be, secrets included: to be tried, never to be answered or stored. */
export type Draft = {
  definition: DestinationDefinition;
  config: FullConfig;
  team_id: number;
  model: ModelName;
  custom_query: string | null;
  columns: Column[];
  write_rule: WriteRule | null;
};

/** The export that a body of POST describes; throws 400 as POST does. */
export async function newDraft(engine: Engine, request: FastifyRequest): Promise<Draft> {
  const { sink, query, team_id, write_rule } = await checkNewExport(
    engine,
    request.access,
    withOwnNames(jsonBody(request)),
  );
  const { definition, destination } = sink;
  const content = contentOf(definition, query);
  return { definition, config: destination.config, team_id, ...content, write_rule };
}

/**
 * The export that the path names, with the changes that a body of PATCH describes; stored secrets
 * need not be sent, unless they would go elsewhere (`checkedInput`). Throws 404 and 400 as PATCH
 * does.
 */
export async function changedDraft(engine: Engine, request: FastifyRequest): Promise<Draft> {
  const row = await engine.db.transaction((tx) => getLockedExport(request, tx));
  const raw = withOwnNames(jsonBody(request));
  const query = await checkContent(engine, raw, row);
  const connection = await checkConnection(engine, engine.db, request.access, {
    raw,
    current: row.connection_id,
  });
  const { sink, before, write_rule } = checkChangedExport(engine, {
    row,
    raw,
    how: 'patch',
    query,
    connection,
  });
  const definition = sink?.definition ?? findDestination(before.type);
  if (definition === undefined)
    throw conflict(`This server has no destination of type ${before.type}.`);
  return {
    definition,
    config: sink?.destination.config ?? before.config,
    team_id: row.team_id,
    ...contentOf(definition, query),
    write_rule,
  };
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
      'The stored query is no longer valid: send it again to see its fault.',
    );
  return { model, custom_query, columns };
}
