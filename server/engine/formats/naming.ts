import type { Encoding } from '../destination/encoding.ts';
import { extensionOf } from '../destination/encoding.ts';

/** What names need to know of a delivery. */
export type NamedDelivery = {
  delivery_id: string;
  model: string;
  data_interval_start: string;
  data_interval_end: string;
};

/** The variables that a prefix may hold in braces. */
export const prefixVariables = [
  'year',
  'month',
  'day',
  'hour',
  'minute',
  'second',
  'table',
  'data_interval_start',
  'data_interval_end',
] as const;

const variable = /\{([^{}]*)\}/g;

/** Variables in braces that a prefix must not hold, each once, as they are written. */
export function unknownPrefixVariables(prefix: string): string[] {
  const known = new Set<string>(prefixVariables);
  return [
    ...new Set(
      [...prefix.matchAll(variable)]
        .map((match) => match[1] ?? '')
        .filter((name) => !known.has(name)),
    ),
  ];
}

/**
 * Does a prefix hold a brace that belongs to no variable, such as `{year`? It would stand in every
 * name as it is.
 */
export function hasLooseBrace(prefix: string): boolean {
  return /[{}]/.test(prefix.replaceAll(variable, ''));
}

/**
 * An instant as basic ISO 8601 in UTC, which fits into file names and object keys:
 * `20150911T000000Z`.
 */
function basicInstant(instant: string): string {
  return `${new Date(instant).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`;
}

/**
 * The folder of a delivery: the prefix with its variables filled in from the end of the interval
 * (UTC), without slashes at its ends; empty for no folder.
 */
function folderOf(prefix: string, delivery: NamedDelivery): string {
  const end = new Date(delivery.data_interval_end).toISOString();
  const values: Record<string, string> = {
    year: end.slice(0, 4),
    month: end.slice(5, 7),
    day: end.slice(8, 10),
    hour: end.slice(11, 13),
    minute: end.slice(14, 16),
    second: end.slice(17, 19),
    table: delivery.model,
    data_interval_start: basicInstant(delivery.data_interval_start),
    data_interval_end: basicInstant(delivery.data_interval_end),
  };
  const filled = prefix.replaceAll(variable, (text, name: string) => values[name] ?? text);
  return filled
    .split('/')
    .filter((part) => part !== '')
    .join('/');
}

/**
 * What all names of a delivery begin with: `<prefix>/<start>-<end>-<delivery>`. The delivery's part
 * keeps runs, backfills and exports of one interval apart.
 */
export function stemOf(prefix: string, delivery: NamedDelivery): string {
  const folder = folderOf(prefix, delivery);
  const stem = [
    basicInstant(delivery.data_interval_start),
    basicInstant(delivery.data_interval_end),
    delivery.delivery_id.replaceAll('-', '').slice(-12),
  ].join('-');
  return folder === '' ? stem : `${folder}/${stem}`;
}

/** The name of a slice: the stem, the number in four digits, the extension. */
export function sliceName(
  prefix: string,
  delivery: NamedDelivery,
  number: number,
  encoding: Encoding,
): string {
  return `${stemOf(prefix, delivery)}-${String(number).padStart(4, '0')}${extensionOf(encoding)}`;
}

/** The name of a delivery's manifest. */
export function manifestName(prefix: string, delivery: NamedDelivery): string {
  return `${stemOf(prefix, delivery)}_manifest.json`;
}

/** True for names that this product gives to slices and manifests, of whichever delivery. */
export function isDeliveryName(name: string): boolean {
  return /(^|\/)\d{8}T\d{6}Z-\d{8}T\d{6}Z-[0-9a-f]{12}(-\d{4,}\.(jsonl|csv|parquet)(\.\w+)?|_manifest\.json)$/.test(
    name,
  );
}

/** The name of the manifest that lists a slice, from the slice's name. */
export function manifestOfSlice(name: string): string {
  return name.replace(/-\d{4,}(\.\w+)+$/, '_manifest.json');
}

/** The folder part of a name, without a slash at its end; empty for none. */
export function folderPart(name: string): string {
  const end = name.lastIndexOf('/');
  return end === -1 ? '' : name.slice(0, end);
}

/**
 * The part of a prefix before its first variable, up to a whole folder: what a connection test may
 * write to.
 */
export function constantFolder(prefix: string): string {
  const parts = prefix.split('/').filter((part) => part !== '');
  const first = parts.findIndex((part) => part.includes('{'));
  return (first === -1 ? parts : parts.slice(0, first)).join('/');
}
