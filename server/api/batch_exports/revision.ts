import { isDeepStrictEqual } from 'node:util';
import type { DestinationDefinition } from '../../engine/model/destination/destination.ts';
import { namesLocalTime } from '../../engine/destinations/formats/naming.ts';
import type { WriteRule } from '../../engine/model/destination/write_mode.ts';
import { event_filter_keys, eventFilterOf } from '../../engine/model/models/event_filter.ts';
import type { CheckedChange } from './body/changed_export.ts';
import type { Destination } from './body/destination_body.ts';

/**
 * Config keys that affect neither the place nor the layout of the data: compression, credentials,
 * and the kind of connection.
 */
const keys_of_access = new Set([
  'compression',
  'encryption',
  'kms_key_id',
  'max_file_size_mb',
  'max_request_records',
  'max_request_size_mb',
  'user',
  'role',
  'warehouse',
  'authentication_type',
  'aws_role_arn',
  'aws_external_id',
  'has_self_signed_cert',
  'require_tls',
  'use_virtual_style_addressing',
]);

/**
 * Returns true if a change of this config key affects the data: the key is not secret, and is not
 * about compression, credentials or the connection.
 */
export function placesData(
  definition: Pick<DestinationDefinition, 'secrets' | 'ways'>,
  key: string,
): boolean {
  return (
    !definition.secrets.includes(key) &&
    !keys_of_access.has(key) &&
    definition.ways?.includes(key) !== true
  );
}

/** The fields that decide the place and content of an export's data. */
type Delivered = {
  model: string;
  custom_query: string | null;
  write_rule?: WriteRule | null;
  columns?: 'typed' | null;
  destination: Destination;
};

/**
 * Returns true if the changed export delivers other rows, to another place, or in another layout.
 * Its earlier deliveries then no longer count.
 */
export function startsRevision(
  definition: Pick<DestinationDefinition, 'secrets' | 'place' | 'ways'>,
  before: Delivered,
  after: Delivered,
): boolean {
  if (
    before.model !== after.model ||
    before.custom_query !== after.custom_query ||
    before.columns !== after.columns ||
    !isDeepStrictEqual(rowsOf(before.write_rule), rowsOf(after.write_rule)) ||
    before.destination.type !== after.destination.type
  )
    return true;
  if (
    definition.place?.(before.destination.config) !== definition.place?.(after.destination.config)
  )
    return true;
  // Compared by meaning: the same names in another order select the same rows.
  if (
    !isDeepStrictEqual(
      eventFilterOf(before.destination.config),
      eventFilterOf(after.destination.config),
    )
  )
    return true;
  const keys = new Set([
    ...Object.keys(before.destination.config),
    ...Object.keys(after.destination.config),
  ]).difference(new Set(event_filter_keys));
  return [...keys].some(
    (key) =>
      placesData(definition, key) &&
      !isDeepStrictEqual(before.destination.config[key], after.destination.config[key]),
  );
}

/** Returns the part of a write rule that affects rows; `allow_empty` does not. */
function rowsOf(rule: WriteRule | null | undefined) {
  if (rule === null || rule === undefined) return null;
  const { allow_empty: _allow_empty, ...rest } = rule;
  return rest;
}

/** Returns true if later runs of the export deliver other data, or to another place. */
export function changesDelivery(change: CheckedChange): boolean {
  const { row, before, sink, query, write_rule, typed } = change;
  const { model, custom_query } = query.content;
  const config = (sink?.destination ?? before).config;
  if (change.rhythm.timezone !== row.timezone && namesLocalTime(config)) return true;
  const was = {
    model: row.model,
    custom_query: row.custom_query,
    write_rule: rowsOf(row.write_rule),
    columns: row.columns,
  };
  const is = { model, custom_query, write_rule: rowsOf(write_rule), columns: typed.columns };
  if (sink === undefined) return !isDeepStrictEqual(was, is);
  return startsRevision(
    sink.definition,
    { ...was, destination: before },
    { ...is, destination: sink.destination },
  );
}
