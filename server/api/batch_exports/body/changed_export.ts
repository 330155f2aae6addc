import { loadConfig } from '../../../engine/model/destination/stored_config.ts';
import type { Engine } from '../../../engine/exports/engine.ts';
import { isFields } from '../../../platform/fields.ts';
import { aliasViolations } from '../aliases.ts';
import type { Meant } from '../aliases.ts';
import { BatchExportPatch, BatchExportReplacement } from '../schema.ts';
import type { LockedExport } from '../store.ts';
import type { Destination } from './destination_body.ts';
import { checkedInput } from './input.ts';
import type { Input } from './input.ts';
import { rulesFor } from './operator_rules.ts';
import type { QueryCheck } from './query_check.ts';
import type { ConnectionCheck } from './used_connection.ts';

/**
 * PATCH changes what is sent and merges the config; PUT demands the required fields and replaces
 * the config, except for secrets that are not sent.
 */
export type HowToChange = 'patch' | 'put';

/** A change as it was asked for: the export as it is, the body as sent, its query's check. */
export type WantedChange = {
  row: LockedExport;
  raw: unknown;
  how: HowToChange;
  query: QueryCheck;
  connection: ConnectionCheck;
};

/** A change that every rule accepted, beside the destination as it was, secrets included. */
export type CheckedChange = Input<typeof BatchExportPatch> & {
  row: LockedExport;
  before: Destination;
  query: QueryCheck;
  connection: ConnectionCheck;
};

function meantBy(raw: unknown, row: LockedExport, { content }: QueryCheck): Meant {
  const { interval = row.interval } = isFields(raw) ? raw : {};
  // Days and weeks of a new interval turn in the project's present zone.
  const timezone = interval === row.interval ? row.timezone : row.project_timezone;
  return { interval, timezone, custom_query: content.custom_query };
}

/** Checks the body of a PATCH or PUT; throws one 400 that names every fault. */
export function checkChangedExport(
  engine: Engine,
  { row, raw, how, query, connection }: WantedChange,
): CheckedChange {
  const before = { type: row.destination_type, config: loadConfig(engine.secrets, row.id, row) };
  const current = { ...row, destination: before };
  const known = aliasViolations(raw, meantBy(raw, row, query), row);
  const rules = rulesFor(engine, connection.organization_id);
  const given = { rules, raw, current, query, connection, known };
  const input =
    how === 'put'
      ? checkedInput({ ...given, schema: BatchExportReplacement, how: 'replace' })
      : checkedInput({ ...given, schema: BatchExportPatch, how: 'merge' });
  return { ...input, row, before, query, connection };
}
