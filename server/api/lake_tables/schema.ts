import { Type } from 'typebox';
import type { Static } from 'typebox';
import { pageOf } from '../../platform/http/lists/pagination.ts';
import { nullable } from '../../platform/nullable.ts';
import { maintenance_rounds } from '../batch_exports/maintenance/schema.ts';
import { flag, instant, text, titled, uuid, whole } from '../../platform/http/schemas.ts';

const count = (description: string) => Type.Integer({ minimum: 0, description });
/** A number that the writer of a snapshot may have left out. */
const told = (description: string) =>
  nullable(count(`${description} Null: its writer did not say.`));
const snapshotId = (description: string) =>
  text(`${description} As text, because it has up to 63 bits.`);

const shared = {
  id: uuid(),
  namespace: text('Its levels, with dots between them.'),
  name: Type.String(),
  batch_export: nullable(
    Type.Object(
      { id: uuid(), name: Type.String() },
      { description: 'The export that writes it. Null: only clients of the catalog write it.' },
    ),
  ),
  location: text('The URI of the folder with its files.'),
  format_version: Type.Integer(),
  rows: told('Rows in the current snapshot.'),
  data_files: told('Data files with these rows.'),
  delete_files: told('Files that delete rows from data files.'),
  bytes: told('Size of these files.'),
  snapshots: count('Snapshots that readers can return to.'),
  committed_at: nullable(
    instant('Time of the last commit that changed rows. Null: no commit has.'),
  ),
  created_at: instant(),
};

/** A table of the Iceberg catalog in a list. */
export const LakeTable = titled('LakeTable', shared);
export type LakeTable = Static<typeof LakeTable>;

const Maintenance = Type.Object(
  {
    is_on: flag('False: `sluice.maintenance` is `false`, or the table has format version 1.'),
    ...maintenance_rounds,
  },
  {
    description:
      'The maintenance of the table. Null: no export writes it, and neither it nor its namespace ' +
      'has `sluice.maintenance` = `true`.',
  },
);
/** The maintenance of a table as SELECT returns it. */
export type Maintenance = Static<typeof Maintenance>;

const column = text('Name of the column.');
const transform = text('`identity`, `day`, `bucket[16]` and so on.');

/** A table of the Iceberg catalog with its schema. */
export const LakeTableDetails = titled('LakeTableDetails', {
  ...shared,
  table_uuid: text('The uuid in its metadata, which readers compare.'),
  metadata_location: text('URI of its current metadata file.'),
  current_snapshot: nullable(snapshotId('The snapshot that readers see.')),
  takes_commits: flag('True if clients of the catalog may commit.'),
  columns: Type.Array(
    Type.Object({
      id: whole('The field id, which stays when the column is renamed.'),
      name: Type.String(),
      type: text("Iceberg's type; lists, maps and structs as JSON."),
      required: Type.Boolean(),
      doc: nullable(text('The comment of a writer.')),
    }),
  ),
  partitions: Type.Array(
    Type.Object({
      name: text('Name of the partition field.'),
      column,
      transform,
    }),
    { description: 'How new files are partitioned.' },
  ),
  sort_order: Type.Array(
    Type.Object({
      column,
      transform,
      direction: Type.String(),
      null_order: Type.String(),
    }),
    { description: 'The order of rows in new files.' },
  ),
  properties: Type.Record(Type.String(), Type.String()),
  refs: Type.Array(
    Type.Object({
      name: Type.String(),
      type: Type.String(),
      snapshot: snapshotId('The snapshot of the branch or tag.'),
    }),
    { description: 'Branches and tags.' },
  ),
  maintenance: nullable(Maintenance),
});
export type LakeTableDetails = Static<typeof LakeTableDetails>;

/** A commit that changed the rows or files of a table. */
export const LakeSnapshot = titled('LakeSnapshot', {
  id: snapshotId('Readers return to it by this id.'),
  parent: nullable(snapshotId('The previous snapshot.')),
  operation: text('`append`, `replace` (the same rows in other files), `overwrite` or `delete`.'),
  committed_at: instant(),
  added_rows: told('Rows in the files that it added.'),
  deleted_rows: told('Rows in the files that it removed.'),
  added_files: told('Data files that it added.'),
  deleted_files: told('Data files that it removed.'),
  total_rows: told('Rows in this snapshot.'),
  run: nullable(
    Type.Object(
      { id: uuid(), batch_export: uuid() },
      { description: 'The run that delivered its rows. Null: another writer wrote it.' },
    ),
  ),
  maintenance: nullable(
    Type.Enum(['compaction', 'manifests', 'erasure'], {
      description: "Sluice's maintenance that wrote it. Null: a run or another writer wrote it.",
    }),
  ),
});
export type LakeSnapshot = Static<typeof LakeSnapshot>;

/** The data files of the current snapshot. */
export const LakeFiles = titled('LakeFiles', {
  snapshot: nullable(snapshotId('The snapshot whose files were counted. Null: there is none.')),
  manifests: nullable(count('Manifests with data files.')),
  data_files: nullable(count('Data files in these manifests.')),
  bytes: nullable(count('Size of the data files.')),
  smallest_bytes: nullable(count('Size of the smallest.')),
  median_bytes: nullable(count('Median size.')),
  largest_bytes: nullable(count('Size of the largest.')),
  fault: nullable(text('Why they could not be counted.')),
});

/** Pages of the lists. */
export const LakeTables = pageOf(LakeTable);
/** A page of snapshots. */
export const LakeSnapshots = pageOf(LakeSnapshot);
