import type { FastifyRequest } from 'fastify';
import type { DestinationDefinition } from '../../../engine/model/destination/destination.ts';
import { findDestination } from '../../../engine/destinations/index.ts';
import type { WriteRule } from '../../../engine/model/destination/write_mode.ts';
import type { Engine } from '../../../engine/exports/engine.ts';
import type { Column } from '../../../engine/model/models/column.ts';
import { withNewColumns } from '../../../engine/exports/runs/run_input.ts';
import { columnsOf } from '../../../engine/exports/source/source_query.ts';
import { findColumnsAt } from '../../../engine/model/schema/run_columns.ts';
import type { TypedColumn } from '../../../engine/model/schema/typed_relation.ts';
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
import { findNewestSchema } from '../typed_columns.ts';
import type { TypedFields } from '../typed_columns.ts';
import type { ModelName } from '../../../engine/model/models/model.ts';

/** An export for a trial, with its secrets; never answered or stored. */
export type Draft = {
  definition: DestinationDefinition;
  config: FullConfig;
  team_id: number;
  model: ModelName;
  custom_query: string | null;
  typed_columns: TypedColumn[] | null;
  columns: Column[];
  write_rule: WriteRule | null;
};

/** Returns the export that a body of POST describes; throws 400 as POST does. */
export async function newDraft(engine: Engine, request: FastifyRequest): Promise<Draft> {
  const { sink, query, team_id, write_rule, typed } = await checkNewExport(
    engine,
    request.access,
    withOwnNames(jsonBody(request)),
  );
  const { definition, destination } = sink;
  const content = contentOf(definition, query, await typedColumns(engine, team_id, query, typed));
  return { definition, config: destination.config, team_id, ...content, write_rule };
}

/**
 * Returns the export of the path with the changes of a PATCH body. Stored secrets need not be sent,
 * unless the address changes (`checkedInput`). Throws 404 and 400 as PATCH does.
 */
export async function changedDraft(engine: Engine, request: FastifyRequest): Promise<Draft> {
  const row = await engine.db.transaction((tx) => getLockedExport(request, tx));
  const raw = withOwnNames(jsonBody(request));
  const query = await checkContent(engine, raw, row);
  const connection = await checkConnection(engine, engine.db, request.access, {
    raw,
    current: row.connection_id,
  });
  const { sink, before, write_rule, typed } = checkChangedExport(engine, {
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
    ...contentOf(definition, query, await typedColumns(engine, row.team_id, query, typed)),
    write_rule,
  };
}

/** Returns the columns that a run of the draft would have now. */
async function typedColumns(
  { db }: Engine,
  team_id: number,
  { content }: QueryCheck,
  { columns, schema_number: accepted }: TypedFields,
): Promise<TypedColumn[] | null> {
  if (columns === null) return null;
  const number = accepted ?? (await findNewestSchema(db, team_id)).schema_number;
  return (await findColumnsAt(db, { team_id, model: content.model }, [number])).get(number) ?? [];
}

function contentOf(
  definition: DestinationDefinition,
  { content, columns }: QueryCheck,
  typed_columns: TypedColumn[] | null,
): Pick<Draft, 'model' | 'custom_query' | 'columns' | 'typed_columns'> {
  const { model, custom_query } = content;
  if (custom_query === null) {
    const own = columnsOf({ model, custom_query, typed_columns }, definition.column_set);
    return { model, custom_query, typed_columns, columns: withNewColumns(own, typed_columns) };
  }
  if (columns === undefined)
    throw invalid(
      'custom_query',
      'invalid_input',
      'The stored query is no longer valid: send it again to see its fault.',
    );
  return { model, custom_query, typed_columns, columns };
}
