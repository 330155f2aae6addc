import { Temporal } from 'temporal-polyfill';
import type { Encoding } from '../../model/destination/encoding.ts';
import { isOfTable, partition_keys } from '../../model/destination/partition.ts';
import type { SlicePartition } from '../../model/destination/partition.ts';
import { extensionOf } from '../../model/destination/encoding.ts';

/** The fields of a delivery that its names need. */
export type NamedDelivery = {
  delivery_id: string;
  model: string;
  data_interval_start: string;
  data_interval_end: string;
  timezone: string;
};

/** The variables of a prefix in braces, each with the instant that fills it. */
export const prefixVariables = [
  { names: ['table', 'data_interval_start', 'data_interval_end'], of: 'the delivery' },
  {
    names: ['local_year', 'local_month', 'local_day', 'local_hour', 'local_minute'],
    of: "the start of the interval in the export's time zone",
  },
  {
    names: [
      'local_end_year',
      'local_end_month',
      'local_end_day',
      'local_end_hour',
      'local_end_minute',
    ],
    of: "the end of the interval in the export's time zone",
  },
  {
    names: ['start_year', 'start_month', 'start_day', 'start_hour', 'start_minute'],
    of: 'the start of the interval in UTC',
  },
  {
    names: ['year', 'month', 'day', 'hour', 'minute', 'second'],
    of: 'the end of the interval in UTC',
  },
];

const variable = /\{([^{}]*)\}/g;

/** Returns invalid variables of a prefix, each once, as they are written. */
export function unknownPrefixVariables(prefix: string): string[] {
  const known = new Set(prefixVariables.flatMap(({ names }) => names));
  return [
    ...new Set(
      [...prefix.matchAll(variable)]
        .map((match) => match[1] ?? '')
        .filter((name) => !known.has(name)),
    ),
  ];
}

/** Returns true for a config whose names depend on the time zone of the export. */
export function namesLocalTime({ prefix, partition_by }: Record<string, unknown>): boolean {
  return (
    (typeof prefix === 'string' && prefix.includes('{local_')) ||
    (Array.isArray(partition_by) && partition_by.includes('date'))
  );
}

/**
 * Returns true if a prefix contains a brace that belongs to no variable, such as `{year`. It would
 * appear in every name.
 */
export function hasLooseBrace(prefix: string): boolean {
  return /[{}]/.test(prefix.replaceAll(variable, ''));
}

/**
 * Returns an instant as basic ISO 8601 in UTC, for file names and object keys: `20150911T000000Z`.
 */
function basicInstant(instant: string): string {
  return `${new Date(instant).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`;
}

/**
 * Returns the folder of a delivery: the prefix with its variables filled in, without outer slashes;
 * empty for no folder.
 */
function folderOf(prefix: string, delivery: NamedDelivery): string {
  const [start, end] = [delivery.data_interval_start, delivery.data_interval_end].map((instant) =>
    new Date(instant).toISOString(),
  ) as [string, string];
  const values: Record<string, string> = {
    ...partsOf('', end),
    ...partsOf('start_', start),
    ...partsOf('local_', localTime(start, delivery.timezone)),
    ...partsOf('local_end_', localTime(end, delivery.timezone)),
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

/** Returns an instant in local time of the zone. */
function localTime(instant: string, timezone: string): string {
  const local = Temporal.Instant.from(instant).toZonedDateTimeISO(timezone);
  return local.toPlainDateTime().toString({ smallestUnit: 'second' });
}

/** Returns the parts of an ISO 8601 text, by their names after `prefix`. */
function partsOf(prefix: string, text: string): Record<string, string> {
  return {
    [`${prefix}year`]: text.slice(0, 4),
    [`${prefix}month`]: text.slice(5, 7),
    [`${prefix}day`]: text.slice(8, 10),
    [`${prefix}hour`]: text.slice(11, 13),
    [`${prefix}minute`]: text.slice(14, 16),
    [`${prefix}second`]: text.slice(17, 19),
  };
}

/**
 * Returns the common prefix of a delivery's names: `<prefix>/<start>-<end>-<delivery>`. The
 * delivery's part separates runs, backfills and exports of one interval.
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

/**
 * Returns the name of a slice: the stem, the number in four digits, the extension. The folders of
 * its partition come before the last part of the stem, followed by `-p` with their number, so that
 * the stem can be recovered from any such name.
 */
export function sliceName(
  prefix: string,
  delivery: NamedDelivery,
  { number, partition }: { number: number; partition?: SlicePartition },
  encoding: Encoding,
): string {
  const stem = stemOf(prefix, delivery);
  const end = `-${String(number).padStart(4, '0')}${extensionOf(encoding)}`;
  const folders = partition === undefined ? [] : partitionFolders(partition);
  if (folders.length === 0) return `${stem}${end}`;
  const folder = folderPart(stem);
  const parts = [...(folder === '' ? [] : [folder]), ...folders, lastPart(stem)];
  return `${parts.join('/')}-p${folders.length}${end}`;
}

const folder_names = { date: 'dt', event: 'event' } as const;
/** The value that Hive, Spark, DuckDB and others read as NULL. */
export const null_folder = '__HIVE_DEFAULT_PARTITION__';

/**
 * Returns the folders of a partition, as `dt=2026-11-29` and `event=%24pageview`; empty for most
 * tables.
 */
function partitionFolders(partition: SlicePartition): string[] {
  // A table knows the partition of each file, whatever its folder.
  if (isOfTable(partition)) return partition.folders ?? [];
  return partition_keys.flatMap((key) => {
    const value = partition[key];
    if (value === undefined) return [];
    return [`${folder_names[key]}=${value === null ? null_folder : folderText(value)}`];
  });
}

/**
 * Escapes every ASCII character except letters, digits and `_.~-`. Others stay unchanged: Spark
 * decodes each escape as a separate character, and would not join the bytes of one.
 */
export function folderText(value: string): string {
  return value.replaceAll(/[^A-Za-z0-9_.~\u{80}-\u{10ffff}-]/gu, (sign) => {
    return `%${sign.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
  });
}

/**
 * The folder of receipts, beside the files of a delivery. Spark, Hive, Athena, pyarrow and others
 * skip names that begin with `_`, so that readers of the data folder only read rows.
 */
const receipt_folder = '_sluice';

const stem_form = String.raw`\d{8}T\d{6}Z-\d{8}T\d{6}Z-([0-9a-f]{12})`;
const slice_form = new RegExp(
  String.raw`^(.*/)?(${stem_form})(?:-p([1-4]))?-\d{4,}\.(?:jsonl|csv|parquet|avro)(?:\.\w+)?$`,
);
const receipt_form = new RegExp(
  String.raw`^(.*/)?${receipt_folder}/(${stem_form})\.receipt\.json$`,
);
const former_receipt_form = new RegExp(String.raw`^((?:.*/)?${stem_form})_manifest\.json$`);

/**
 * One of our names: its kind, the stem that it shares with its delivery, and the delivery's part.
 */
export type DeliveryName = { is_receipt: boolean; stem: string; delivery: string };

/** Parses our name of a slice or receipt; undefined for any other name. */
export function parseDeliveryName(name: string): DeliveryName | undefined {
  const slice = slice_form.exec(name);
  if (slice !== null) {
    const [, folder = '', last = '', delivery = '', parts = '0'] = slice;
    const above = withoutParts(folder, Number(parts));
    return above && { is_receipt: false, stem: `${above.folder}${last}`, delivery };
  }
  const former = former_receipt_form.exec(name);
  if (former !== null) return { is_receipt: true, stem: former[1]!, delivery: former[2]! };
  const receipt = receipt_form.exec(name);
  if (receipt === null) return undefined;
  return { is_receipt: true, stem: `${receipt[1] ?? ''}${receipt[2]!}`, delivery: receipt[3]! };
}

/** Returns true for a slice's name of the delivery with this stem. */
export function isOfStem(name: string, stem: string): boolean {
  const parsed = parseDeliveryName(name);
  return parsed?.is_receipt === false && parsed.stem === stem;
}

/** Returns the folder, with a trailing slash, above this many partition folders. */
function withoutParts(folder: string, parts: number): { folder: string } | undefined {
  const names = folder.split('/').slice(0, -1);
  const own = names.splice(names.length - parts, parts);
  if (own.length < parts || !own.every((name) => /^[^=]+=/.test(name))) return undefined;
  return { folder: names.map((name) => `${name}/`).join('') };
}

/**
 * Returns the possible receipt names of a stem: `<folder>/_sluice/<stem>.receipt.json`, which is
 * written, and the former `<folder>/<stem>_manifest.json`, which stays valid.
 */
export function receiptsOfStem(stem: string): [string, string] {
  const folder = folderPart(stem);
  const parts = [receipt_folder, `${lastPart(stem)}.receipt.json`];
  return [[...(folder === '' ? [] : [folder]), ...parts].join('/'), `${stem}_manifest.json`];
}

/** Returns the folder part of a name, without a trailing slash; empty for none. */
export function folderPart(name: string): string {
  const end = name.lastIndexOf('/');
  return end === -1 ? '' : name.slice(0, end);
}

/** Returns the part of a name after its folders. */
export function lastPart(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

/**
 * Returns the part of a prefix before its first variable, up to a whole folder, to which a
 * connection test may write.
 */
export function constantFolder(prefix: string): string {
  const parts = prefix.split('/').filter((part) => part !== '');
  const first = parts.findIndex((part) => part.includes('{'));
  return (first === -1 ? parts : parts.slice(0, first)).join('/');
}
