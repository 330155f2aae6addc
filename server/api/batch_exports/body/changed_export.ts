import { loadConfig } from '../../../engine/model/destination/stored_config.ts';
import type { Engine } from '../../../engine/exports/engine.ts';
import { aliasViolations } from '../aliases.ts';
import { changedRhythm } from '../rhythm.ts';
import type { OwnRhythm } from '../rhythm.ts';
import { BatchExportPatch, BatchExportReplacement } from '../schema.ts';
import type { LockedExport } from '../store.ts';
import type { Destination } from './destination_body.ts';
import { checkedInput } from './input.ts';
import type { Input } from './input.ts';
import { rulesFor } from './operator_rules.ts';
import type { QueryCheck } from './query_check.ts';
import type { ConnectionCheck } from './used_connection.ts';

/**
 * PATCH changes the sent fields and merges the config. PUT requires the required fields and
 * replaces the config, except for secrets that were not sent.
 */
export type HowToChange = 'patch' | 'put';

/** A requested change: the current export, the body as sent, and the check of its query. */
export type WantedChange = {
  row: LockedExport;
  raw: unknown;
  how: HowToChange;
  query: QueryCheck;
  connection: ConnectionCheck;
};

/** A valid change, with the current destination including its secrets. */
export type CheckedChange = Input<typeof BatchExportPatch> & {
  row: LockedExport;
  rhythm: OwnRhythm;
  before: Destination;
  query: QueryCheck;
  connection: ConnectionCheck;
};

/** Checks the body of a PATCH or PUT; throws one 400 that names every fault. */
export function checkChangedExport(
  engine: Engine,
  { row, raw, how, query, connection }: WantedChange,
): CheckedChange {
  const before = { type: row.destination_type, config: loadConfig(engine.secrets, row.id, row) };
  const current = { ...row, destination: before };
  const known = aliasViolations(raw, query.content.custom_query, row.custom_query);
  const rules = rulesFor(engine, connection.organization_id);
  const newest = row.project_schema;
  const given = { rules, raw, current, query, connection, newest, known };
  const input =
    how === 'put'
      ? checkedInput({ ...given, schema: BatchExportReplacement, how: 'replace' })
      : checkedInput({ ...given, schema: BatchExportPatch, how: 'merge' });
  const rhythm = changedRhythm(input.fields, row, how);
  return { ...input, row, rhythm, before, query, connection };
}
