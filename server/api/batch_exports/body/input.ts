import type { Static, TObject } from 'typebox';
import type {
  DestinationDefinition,
  OperatorRules,
} from '../../../engine/model/destination/destination.ts';
import { findDestination } from '../../../engine/destinations/index.ts';
import { partitionFault } from '../../../engine/destinations/formats/file_config.ts';
import { event_filter_keys } from '../../../engine/model/models/event_filter.ts';
import { intervals, nominalLength } from '../../../engine/exports/planning/interval.ts';
import { isFields } from '../../../platform/fields.ts';
import type { Violation } from '../../../platform/http/errors.ts';
import { isInstant } from '../../../platform/instant.ts';
import { checked } from '../../../platform/http/bodies/validator.ts';
import { rhythmViolations } from '../rhythm.ts';
import { collectViolations } from './collect.ts';
import type { Collected } from './collect.ts';
import type { Destination } from './destination_body.ts';
import { checkDestination } from './destination_check.ts';
import type { Current, Sink } from './destination_check.ts';
import { instantViolations, rangeViolations } from './instants.ts';
import { tagViolations } from '../tags.ts';
import { checkTypedFields, typedOf } from '../typed_columns.ts';
import type { NewestSchema, TypedFields } from '../typed_columns.ts';
import { checkWriteRule } from '../write_mode.ts';
import type { CheckedRule } from '../write_mode.ts';
import type { QueryCheck } from './query_check.ts';
import type { ConnectionCheck } from './used_connection.ts';
import { columnsOf } from '../../../engine/exports/source/source_query.ts';
import { models } from '../../../engine/model/models/index.ts';
import type { Column } from '../../../engine/model/models/column.ts';
import type { ModelName } from '../../../engine/model/models/model.ts';
import { writtenBy } from '../../../engine/model/destination/write_mode.ts';
import type { WriteRule } from '../../../engine/model/destination/write_mode.ts';
import type { TypedColumn } from '../../../engine/model/schema/typed_relation.ts';

/** A valid body. `sink` is set if the body has a destination. */
export type Input<Schema extends TObject> = {
  fields: Static<Schema>;
  sink: Sink | undefined;
  write_rule: WriteRule | null;
  typed: TypedFields;
};

/** A body with everything that its rules need. */
export type ToCheck<Schema extends TObject> = {
  /** The rules of the operator. */
  rules: OperatorRules;
  schema: Schema;
  raw: unknown;
  current?: Current;
  /** Treatment of absent config keys. */
  how: 'merge' | 'replace';
  query: QueryCheck;
  connection: ConnectionCheck;
  /** The newest schema of the project. */
  newest: NewestSchema;
  /** Violations that the caller has found. */
  known?: Violation[];
};

/**
 * Checks the body of POST, PUT and PATCH: its schema, the destination's own schema and rules, and
 * the rules between fields. Throws one 400 that lists every violation, with the violations of the
 * query and of the caller. A stored secret is only valid for its address: if a key of the address
 * changes, the secret must be sent again.
 */
export function checkedInput<Schema extends TObject>({
  rules,
  schema,
  raw,
  current,
  how,
  query,
  connection,
  newest,
  known = [],
}: ToCheck<Schema>): Input<Schema> {
  const collected = collectViolations();
  collected.add([...known, ...connection.violations]);
  const fields = collected.from(() => checked(schema, raw));
  const body: Record<string, unknown> = isFields(raw) ? raw : {};
  checkInstants(collected, body, current);
  collected.add(rhythmViolations(raw, current));
  collected.add(freshnessViolations(body, current));
  const sink = checkDestination(collected, body['destination'], current, {
    how,
    rules,
    connection,
  });
  collected.add(filterViolations(query.content.model, sink?.destination ?? current?.destination));
  const definition =
    sink?.definition ??
    (current === undefined ? undefined : findDestination(current.destination.type));
  collected.add(query.violations);
  if (definition !== undefined)
    collected.add(asideViolations(body, current, definition, sink?.destination));
  if (definition !== undefined && (query.is_changed || sink !== undefined))
    collected.add(columnViolations(definition, query, sink?.destination ?? current?.destination));
  collected.add(tagViolations(body['tags']));
  const typed = checkTypedFields(body, query.content, newest, current);
  collected.add(typed.violations);
  const own = typedOf(typed.fields, query.content.model, newest);
  const written = writeRule(body, current, definition, query, own);
  collected.add(written.violations);
  const destination = sink?.destination ?? current?.destination;
  if (definition !== undefined && destination !== undefined)
    collected.add(
      layoutViolations(definition, destination, columnsFor(definition, query, own), written.rule),
    );
  collected.throwIfAny();
  return {
    fields: fields as Static<Schema>,
    sink,
    write_rule: written.rule,
    typed: typed.fields,
  };
}

/** Returns the write rule of an export with this content; the destination may be unknown. */
function writeRule(
  body: Record<string, unknown>,
  current: Current | undefined,
  definition: DestinationDefinition | undefined,
  query: QueryCheck,
  typed_columns: TypedColumn[] | null,
): CheckedRule {
  const standing = current?.write_rule ?? null;
  if (definition === undefined) return { rule: standing, violations: [] };
  const { model, custom_query } = query.content;
  const columns = columnsFor(definition, query, typed_columns);
  const written = { model, custom_query, destination_type: definition.type, columns };
  const { before } = query;
  if (current === undefined || before === undefined) return checkWriteRule(body, written);
  const stood = { ...before, rule: standing, destination_type: current.destination.type };
  return checkWriteRule(body, written, stood);
}

/** Returns the columns of an export; undefined if its query is invalid. */
function columnsFor(
  { column_set }: DestinationDefinition,
  { content: { model, custom_query }, columns }: QueryCheck,
  typed_columns: TypedColumn[] | null,
): Column[] | undefined {
  return custom_query === null
    ? columnsOf({ model, custom_query, typed_columns }, column_set)
    : columns;
}

/** A table can only be partitioned and sorted by columns that the export has. */
function layoutViolations(
  definition: DestinationDefinition,
  { config }: Destination,
  columns: Column[] | undefined,
  rule: WriteRule | null,
): Violation[] {
  if (columns === undefined || columns.length === 0) return [];
  const found = definition.layoutViolations?.(config, columns, writtenBy(rule).merge) ?? [];
  return found.map((one) => ({ ...one, attr: `destination__config__${one.attr}` }));
}

function columnViolations(
  definition: DestinationDefinition,
  { columns = [], content }: QueryCheck,
  destination: Destination | undefined,
): Violation[] {
  const config = destination?.config ?? {};
  const faults = definition.columnFaults?.(columns, config) ?? [];
  const found: Violation[] = faults.map((detail) => ({
    attr: 'custom_query',
    code: 'invalid_input',
    detail,
  }));
  const parts = definition.partitionKeys?.(config) ?? [];
  // An invalid query has no columns to check.
  if (parts.length === 0 || (content.custom_query !== null && columns.length === 0)) return found;
  const own = content.custom_query === null ? models[content.model].columns.files : columns;
  const fault = partitionFault(parts, own);
  if (fault !== undefined)
    found.push({ attr: 'destination__config__partition_by', code: 'invalid_input', detail: fault });
  return found;
}

/** Only some destinations report which rows they refuse, so only they can set rows aside. */
function asideViolations(
  body: Record<string, unknown>,
  current: Current | undefined,
  definition: DestinationDefinition,
  destination = current?.destination,
): Violation[] {
  const { rejected_rows = current?.rejected_rows } = body;
  if (rejected_rows !== 'set_aside' || destination === undefined) return [];
  const detail =
    definition.setAsideFault === undefined
      ? `The destination ${definition.type} cannot set refused rows aside; docs/rejected_rows.md ` +
        'says why, and what to do instead. Use "stop".'
      : definition.setAsideFault(destination.config);
  return detail === undefined ? [] : [{ attr: 'rejected_rows', code: 'invalid_choice', detail }];
}

/** An empty list is allowed with any model, so that clients can send back an answer. */
function filterViolations(model: ModelName, destination: Destination | undefined): Violation[] {
  if (model === 'events' || destination === undefined) return [];
  const isRestricting = (key: string) =>
    Array.isArray(destination.config[key]) && destination.config[key].length > 0;
  return event_filter_keys.filter(isRestricting).map((key) => ({
    attr: `destination__config__${key}`,
    code: 'invalid_input',
    detail:
      'Only the model "events" can be restricted by the names of events: send null here, or ' +
      'the model "events".',
  }));
}

function checkInstants(
  collected: Collected,
  body: Record<string, unknown>,
  current: Current | undefined,
): void {
  const sent = (name: string) => {
    const value = body[name];
    return value === null || (typeof value === 'string' && isInstant(value)) ? value : undefined;
  };
  const [start_at, end_at, last_paused_at] = ['start_at', 'end_at', 'last_paused_at'].map(sent);
  collected.add(instantViolations({ start_at, end_at, last_paused_at }));
  if (start_at !== undefined || end_at !== undefined) {
    collected.add(
      rangeViolations(
        start_at === undefined ? current?.start_at : start_at,
        end_at === undefined ? current?.end_at : end_at,
      ),
    );
  }
}

/**
 * Between two runs, the newest delivered interval becomes as old as an interval is long. A shorter
 * limit would report every export as late.
 */
function freshnessViolations(
  body: Record<string, unknown>,
  current: Current | undefined,
): Violation[] {
  if (!('interval' in body) && !('freshness_seconds' in body)) return [];
  const { interval = current?.interval, freshness_seconds = current?.freshness_seconds } = body;
  const known = intervals.find((one) => one === interval);
  if (
    known === undefined ||
    !Number.isInteger(freshness_seconds) ||
    Number(freshness_seconds) > nominalLength(known) / 1000
  )
    return [];
  return [
    {
      attr: 'freshness_seconds',
      code: 'min_value',
      detail: `Must be more than the ${nominalLength(known) / 1000} seconds of one interval.`,
    },
  ];
}
