import { isDeepStrictEqual } from 'node:util';
import type { DestinationDefinition } from '../../engine/model/destination/destination.ts';
import { namesLocalTime } from '../../engine/destinations/formats/naming.ts';
import type { WriteRule } from '../../engine/model/destination/write_mode.ts';
import { event_filter_keys, eventFilterOf } from '../../engine/model/models/event_filter.ts';
import type { CheckedChange } from './body/changed_export.ts';
import type { Destination } from './body/destination_body.ts';

/**
 * Config keys that say neither where the data lies nor how it is laid out: how a reader unpacks a
 * file, who writes, and over what kind of connection.
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
 * True when a change of this config key means other data: everything that is neither secret nor
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

/** The fields of an export that decide where its data lies. */
type Delivered = {
  model: string;
  custom_query: string | null;
  write_rule?: WriteRule | null;
  columns?: 'typed' | null;
  destination: Destination;
};

/**
 * True when an export after the change delivers other rows, or to another place, or laid out
 * otherwise: then nothing that was delivered before counts for it.
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
    !isDeepStrictEqual(before.write_rule, after.write_rule) ||
    before.destination.type !== after.destination.type
  )
    return true;
  if (
    definition.place?.(before.destination.config) !== definition.place?.(after.destination.config)
  )
    return true;
  // Compared by what they mean: the same names in another order are the same rows.
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

/** True when the change makes the export deliver something else, or elsewhere, from then on. */
export function changesDelivery(change: CheckedChange): boolean {
  const { row, before, sink, query, write_rule, typed } = change;
  const { model, custom_query } = query.content;
  const config = (sink?.destination ?? before).config;
  if (change.rhythm.timezone !== row.timezone && namesLocalTime(config)) return true;
  const was = {
    model: row.model,
    custom_query: row.custom_query,
    write_rule: row.write_rule,
    columns: row.columns,
  };
  const is = { model, custom_query, write_rule, columns: typed.columns };
  if (sink === undefined) return !isDeepStrictEqual(was, is);
  return startsRevision(
    sink.definition,
    { ...was, destination: before },
    { ...is, destination: sink.destination },
  );
}
