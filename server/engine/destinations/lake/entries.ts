import { readAvro, writeAvro } from './avro_file.ts';
import type { AvroSchema } from './avro_file.ts';
import { first_row_id_field } from './manifest.ts';
import type { ListedManifest } from './manifest_list.ts';
import type { PartitionValue } from './partition_types.ts';

/** The states of an entry: the file existed before, came with the snapshot, or left with it. */
export const entry_status = { existing: 0, added: 1, deleted: 2 } as const;

/** A file in an entry of a manifest, with its own or inherited sequence numbers. */
export type Entry = {
  status: number;
  /** The snapshot that added the file, or that deleted it. */
  snapshot_id: bigint;
  sequence_number: bigint;
  file_sequence_number: bigint;
  path: string;
  records: number;
  bytes: number;
  /** The id of its first row, written or inherited; null if rows have none. */
  first_row_id: bigint | null;
  /** The only data file whose rows a delete file names. */
  referenced_data_file: string | null;
  /** 0 for data, 1 for position deletes, 2 for equality deletes. */
  content: number;
  /** The values of the fields of the manifest's spec, in order. */
  partition: PartitionValue[];
  /** The original entry of its writer. */
  record: Record<string, unknown>;
};

/** A manifest of any writer, which can be rewritten with other states of its entries. */
export type OpenedManifest = {
  schema: AvroSchema;
  meta: Record<string, string>;
  spec_id: number;
  entries: Entry[];
};

/** Ids of the fields of an entry and of its data file. */
const ids = {
  status: 0,
  snapshot_id: 1,
  data_file: 2,
  sequence_number: 3,
  file_sequence_number: 4,
  path: 100,
  partition: 102,
  records: 103,
  bytes: 104,
  content: 134,
  first_row_id: 142,
  referenced_data_file: 143,
} as const;

/** The parts of a listed manifest that its entries inherit. */
export type Inherited = Pick<
  ListedManifest,
  'sequence_number' | 'added_snapshot_id' | 'partition_spec_id' | 'first_row_id'
>;

/**
 * Reads a manifest exactly: unknown parts of an entry stay in its `record`. Fields are found by
 * their ids, because other writers use other names for some of them. Throws for format v1, whose
 * entries have no sequence numbers.
 */
export function openManifest(bytes: Buffer, listed: Inherited): OpenedManifest {
  const { schema, records, meta } = readAvro(bytes);
  const names = namesOf(schema);
  if (names.get(ids.sequence_number) === undefined)
    throw new Error('Sluice does not change tables with manifests of the format v1.');
  const entries = withRowIds(
    records.map((record) => entryOf(record as Values, names, listed)),
    listed.first_row_id,
  );
  return { schema, meta, spec_id: listed.partition_spec_id, entries };
}

type Values = Record<string, unknown>;

/** Assigns inherited ids to the files without an id of their first row, in order. */
function withRowIds(entries: Entry[], first: bigint | null): Entry[] {
  if (first === null) return entries.map((entry) => ({ ...entry, first_row_id: null }));
  let next = first;
  return entries.map((entry) => {
    if (entry.first_row_id !== null || !isLive(entry)) return entry;
    const first_row_id = next;
    next += BigInt(entry.records);
    return { ...entry, first_row_id };
  });
}

function entryOf(record: Values, names: Map<number, string>, listed: Inherited): Entry {
  const own = (id: number) => record[names.get(id)!];
  const file = own(ids.data_file) as Values;
  const inFile = (id: number) => file[names.get(id)!];
  const partition = inFile(ids.partition) as Record<string, PartitionValue> | undefined;
  return {
    status: own(ids.status) as number,
    snapshot_id: (own(ids.snapshot_id) as bigint | null) ?? listed.added_snapshot_id,
    sequence_number: (own(ids.sequence_number) as bigint | null) ?? listed.sequence_number,
    file_sequence_number:
      (own(ids.file_sequence_number) as bigint | null) ?? listed.sequence_number,
    path: inFile(ids.path) as string,
    records: Number(inFile(ids.records)),
    bytes: Number(inFile(ids.bytes)),
    first_row_id: (inFile(ids.first_row_id) as bigint | null | undefined) ?? null,
    referenced_data_file: (inFile(ids.referenced_data_file) as string | null | undefined) ?? null,
    content: (inFile(ids.content) as number | undefined) ?? 0,
    partition: Object.values(partition ?? {}),
    record,
  };
}

/** Returns the names of the fields of an entry, of its data file and so on, by their ids. */
function namesOf(schema: AvroSchema): Map<number, string> {
  const names = new Map<number, string>();
  const walk = (one: unknown): void => {
    if (Array.isArray(one)) one.forEach(walk);
    if (typeof one !== 'object' || one === null) return;
    const { type, fields = [] } = one as { type?: unknown; fields?: AvroSchema[] };
    if (typeof type === 'object') walk(type);
    for (const field of fields) {
      const id = field['field-id'];
      if (typeof id === 'number') names.set(id, String(field['name']));
      // The fields of a partition have their own ids, which columns may have as well.
      if (id !== ids.partition) walk(field['type']);
    }
  };
  walk(schema);
  return names;
}

/** Returns true if the table has the file of an entry. */
export function isLive({ status }: Pick<Entry, 'status'>): boolean {
  return status !== entry_status.deleted;
}

/**
 * Returns the bytes of a manifest with other entries, which come from manifests of the same schema.
 * States, numbers and ids come from the entries; everything else stays as its writer wrote it. With
 * `tracks_rows` it has the format v3.
 */
export function manifestBytes(
  { schema: written, meta }: Pick<OpenedManifest, 'schema' | 'meta'>,
  entries: readonly Entry[],
  tracks_rows: boolean,
): Buffer {
  const schema = tracks_rows ? withRowIdField(written) : written;
  const names = namesOf(schema);
  const { 'avro.schema': _, 'avro.codec': __, ...own } = meta;
  const [file_name, id_name] = [names.get(ids.data_file)!, names.get(ids.first_row_id)];
  const records = entries.map(
    ({ record, status, snapshot_id, sequence_number, file_sequence_number, first_row_id }) => ({
      ...record,
      ...(id_name === undefined
        ? {}
        : { [file_name]: { ...(record[file_name] as Values), [id_name]: first_row_id } }),
      [names.get(ids.status)!]: status,
      [names.get(ids.snapshot_id)!]: snapshot_id,
      [names.get(ids.sequence_number)!]: sequence_number,
      [names.get(ids.file_sequence_number)!]: file_sequence_number,
    }),
  );
  return writeAvro(schema, records, { ...own, ...(tracks_rows && { 'format-version': '3' }) });
}

/** Returns the schema of entries with the field that format v2 lacks. */
function withRowIdField(schema: AvroSchema): AvroSchema {
  if (namesOf(schema).has(ids.first_row_id)) return schema;
  const fields = (schema['fields'] as AvroSchema[]).map((field) => {
    const type = field['type'] as AvroSchema;
    return field['field-id'] === ids.data_file
      ? { ...field, type: { ...type, fields: [...(type['fields'] as []), first_row_id_field] } }
      : field;
  });
  return { ...schema, fields };
}

/** The counts of a manifest in a list. */
export type Counts = Pick<
  ListedManifest,
  | 'added_files_count'
  | 'existing_files_count'
  | 'deleted_files_count'
  | 'added_rows_count'
  | 'existing_rows_count'
  | 'deleted_rows_count'
>;

/** Counts entries by their state. */
export function countsOf(entries: readonly Pick<Entry, 'status' | 'records'>[]): Counts {
  const of = (status: number) => entries.filter((entry) => entry.status === status);
  const rows = (status: number) =>
    of(status).reduce((sum, { records }) => sum + BigInt(records), 0n);
  return {
    added_files_count: of(entry_status.added).length,
    existing_files_count: of(entry_status.existing).length,
    deleted_files_count: of(entry_status.deleted).length,
    added_rows_count: rows(entry_status.added),
    existing_rows_count: rows(entry_status.existing),
    deleted_rows_count: rows(entry_status.deleted),
  };
}
