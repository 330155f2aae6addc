import type { Static } from 'typebox';
import type { WriteRule } from '../../../engine/model/destination/write_mode.ts';
import type { Engine } from '../../../engine/exports/engine.ts';
import { isFields } from '../../../platform/fields.ts';
import { invalid, notFound } from '../../../platform/http/errors.ts';
import type { Place } from '../../../platform/http/caller/mount.ts';
import { aliasViolations } from '../aliases.ts';
import { BatchExportReplacement, NewBatchExport } from '../schema.ts';
import { findTargetProject } from '../store.ts';
import { findNewestSchema, no_schema } from '../typed_columns.ts';
import type { TypedFields } from '../typed_columns.ts';
import { checkedInput } from './input.ts';
import type { Sink } from './destination_check.ts';
import { checkContent } from './query_check.ts';
import { rulesFor } from './operator_rules.ts';
import type { QueryCheck } from './query_check.ts';
import { checkConnection } from './used_connection.ts';
import type { UsedConnection } from './used_connection.ts';

/** A valid new export; `team_id` is the project that it would get now. */
export type CheckedNewExport = {
  place: Place;
  fields: Static<typeof NewBatchExport>;
  sink: Sink;
  query: QueryCheck;
  connection: UsedConnection | undefined;
  write_rule: WriteRule | null;
  typed: TypedFields;
  team_id: number;
};

/**
 * Checks the body of a POST without a lock. Only the existence of the project has to be checked
 * again. Throws one 400 that names every fault, and 503 if the store does not answer.
 */
export async function checkNewExport(
  engine: Engine,
  place: Place,
  raw: unknown,
): Promise<CheckedNewExport> {
  const query = await checkContent(engine, raw, undefined);
  const connection = await checkConnection(engine, engine.db, place, { raw, current: null });
  const wanted =
    isFields(raw) && Number.isInteger(raw['team_id']) ? (raw['team_id'] as number) : undefined;
  const project =
    place.team_id === undefined ? await findTargetProject(engine.db, place, wanted) : undefined;
  const team_id = place.team_id ?? project?.id;
  const missing = team_id === undefined ? noProject(place, wanted) : undefined;
  const isTyped = isFields(raw) && raw['columns'] === 'typed' && team_id !== undefined;
  const newest = isTyped ? await findNewestSchema(engine.db, team_id) : no_schema;
  const { fields, sink, write_rule, typed } = checkedInput({
    rules: rulesFor(engine, place.organization_id),
    // The project of the path takes precedence over the body.
    schema: place.team_id === undefined ? NewBatchExport : BatchExportReplacement,
    raw,
    how: 'replace',
    query,
    connection,
    newest,
    known: [...(missing?.violations ?? []), ...aliasViolations(raw, query.content.custom_query)],
  });
  const checked = { place, fields, sink: sink!, query, write_rule, typed };
  return { ...checked, connection: connection.used, team_id: team_id! };
}

/** Returns the 400 or 404 for a project that cannot have a new export. */
export function noProject(place: Place, wanted: number | undefined) {
  if (place.team_id !== undefined) return notFound();
  if (wanted === undefined)
    return invalid('team_id', 'required', 'This organization has no project: create one first.');
  return invalid('team_id', 'invalid_input', 'The organization has no project with this id.');
}
