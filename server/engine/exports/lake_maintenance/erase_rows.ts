import sql from 'sql-template-tag';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { readParquets } from '../../destinations/formats/parquet/read_parquet.ts';
import type { DataFile } from '../../destinations/lake/manifest.ts';
import type { ListedManifest } from '../../destinations/lake/manifest_list.ts';
import { newSnapshotId } from '../../destinations/lake/snapshot_change.ts';
import type { SnapshotChange } from '../../destinations/lake/snapshot_change.ts';
import { currentSchema } from '../../destinations/lake/table_metadata.ts';
import type { TableMetadata } from '../../destinations/lake/table_metadata.ts';
import { exactId } from './expire_snapshots.ts';
import { listLive, noteReplaced, replaceFiles, storeRows } from './compact.ts';
import type { LiveFile } from './compact.ts';
import { commitHeld, reloaded, stateOf } from './maintained_table.ts';
import type { MaintainedTable } from './maintained_table.ts';
import { readList } from './read_table.ts';
import { removeExpiredFiles, sharesFolder } from './remove_expired_files.ts';
import { numberRows, rewriteManifests } from './rewrite_manifests.ts';
import { rewriteRows, whyUnfit } from './rewrite_rows.ts';
import { inputsOf } from './rows_inputs.ts';
import type { LeftOut, RewrittenRows } from './rewrite_rows.ts';
import { trimFiles } from './trim_files.ts';

/** Numbers of rewritten files, removed snapshots and removed files. */
export type ErasedRows = { files: number; snapshots: number; removed: number };

/** A file without the rows, rewritten once for all refs that contain it. */
type Cleaned = { rows: RewrittenRows; stored: DataFile | undefined };
type Work = MaintainedTable & {
  left_out: LeftOut;
  keys: ReadonlySet<string>;
  searched: Map<string, boolean>;
  cleaned: Map<string, Cleaned>;
};

const looks_max = 20;

/**
 * Removes rows by their keys from every branch and tag of a table. It rewrites the files with such
 * rows, removes all older snapshots, and then the files, manifests and lists that only these
 * reached. Returns a sentence, with nothing changed, if it cannot; undefined if a run in progress
 * still needs files, so that the caller tries again later. May be repeated.
 */
export async function eraseRows(
  given: MaintainedTable,
  left_out: LeftOut,
  keys: ReadonlySet<string>,
): Promise<ErasedRows | string | undefined> {
  const why = await whyNot(given, left_out);
  if (why !== undefined) return why;
  const work: Work = { ...given, left_out, keys, searched: new Map(), cleaned: new Map() };
  for (let look = 0; await cleanRefs(work); look += 1)
    if (look === looks_max) throw new Error('Other writers change the table all the time.');
  await dropDeletedEntries(work);
  const snapshots = await expireOthers(work);
  let removed = 0;
  for (;;) {
    const gone = await removeExpiredFiles(work);
    if (gone === undefined) return undefined;
    if (gone.data + gone.metadata === 0) break;
    removed += gone.data + gone.metadata;
  }
  const { orphans } = await trimFiles(work, { with_young_data: true });
  return { files: work.cleaned.size, snapshots, removed: removed + orphans };
}

/** Reads the current refs of the table. */
async function refsOf(one: MaintainedTable): Promise<string[]> {
  return Object.keys((await reloaded(one))?.metadata.refs ?? {});
}

async function whyNot(one: MaintainedTable, { column }: LeftOut): Promise<string | undefined> {
  const { table, rules, engine } = one;
  if (!rules.removes_files)
    return 'The table has `gc.enabled` = false, so its old files stay. Remove them yourself.';
  if (await sharesFolder(one)) return 'Another table has the same folder, so old files stay.';
  if (![2, 3].includes(table.metadata['format-version']))
    return 'The table has another format version than 2 and 3.';
  for (const ref of await refsOf(one)) {
    const state = await stateOf(engine.db, table, ref);
    const schema = currentSchema(state.metadata);
    const live = await listLive(one, state);
    const unfit = typeof live === 'string' ? live : whyUnfit(schema);
    if (unfit !== undefined)
      return `${unfit} So the rows stay on the ref "${ref}". Remove them with an engine.`;
    if (!schema.fields.some(({ name }) => name === column))
      return `The table no longer has a column "${column}".`;
  }
  return undefined;
}

/** Rewrites the files with such rows on every ref; returns true if it changed any. */
async function cleanRefs(work: Work): Promise<boolean> {
  let has_found = false;
  for (const ref of await refsOf(work)) {
    await numberRows(work, ref);
    const table = await reloaded(work);
    if (table === undefined) return false;
    const state = await stateOf(work.engine.db, table, ref);
    const live = await listLive(work, state);
    if (typeof live === 'string') throw new Error(live);
    const touched: LiveFile[] = [];
    for (const file of live) if (await hasRows(work, file)) touched.push(file);
    if (touched.length === 0) continue;
    has_found = true;
    const added: DataFile[] = [];
    for (const file of touched) {
      const { stored } = await cleanedOf(work, state.metadata, file);
      if (stored !== undefined) added.push(stored);
    }
    const change: SnapshotChange = {
      snapshot_id: newSnapshotId(),
      operation: added.length === 0 ? 'delete' : 'overwrite',
      added,
      removed: new Set(touched.map(({ path }) => path)),
      summary: { 'sluice.maintenance': 'erasure' },
    };
    const note = (tx: Transaction) => noteCleaned(work, tx, touched);
    await replaceFiles(work, state, ref, change, ref === 'main' ? note : async () => undefined);
  }
  return has_found;
}

/** Returns true if the file has one of the keys. Reads each file once. */
async function hasRows(work: Work, file: LiveFile): Promise<boolean> {
  const known = work.searched.get(file.path);
  if (known !== undefined) return known;
  const schema = currentSchema((await stateOf(work.engine.db, work.table)).metadata);
  const fields = schema.fields.filter(({ name }) => name === work.left_out.column);
  let found = false;
  for await (const { rows } of readParquets(inputsOf(work.files, fields, [file])))
    found ||= rows.some(([key]) => typeof key === 'string' && work.keys.has(key));
  work.searched.set(file.path, found);
  return found;
}

/** Branches of an upgraded table assign different ids to the rows of one file. */
const keyOf = ({ path, first_row_id }: LiveFile) => `${path} ${first_row_id}`;

async function cleanedOf(work: Work, metadata: TableMetadata, file: LiveFile): Promise<Cleaned> {
  const known = work.cleaned.get(keyOf(file));
  if (known !== undefined) return known;
  const { left_out } = work;
  const rows = await rewriteRows(work, { metadata, sources: [file], left_out });
  const cleaned = { rows, stored: await storeRows(work, [file], rows) };
  work.cleaned.set(keyOf(file), cleaned);
  return cleaned;
}

async function noteCleaned(work: Work, tx: Transaction, touched: LiveFile[]): Promise<void> {
  for (const file of touched) {
    const { rows, stored } = work.cleaned.get(keyOf(file))!;
    await noteReplaced(work, tx, [file], rows, stored?.path ?? null);
  }
}

/** Entries of removed files contain the bounds of their values, so such manifests are rewritten. */
async function dropDeletedEntries(work: Work): Promise<void> {
  for (const ref of await refsOf(work))
    for (;;) {
      const table = await reloaded(work);
      const parent = table && (await stateOf(work.engine.db, table, ref)).parent;
      if (parent === undefined) break;
      const listed = await readList(work.files, parent['manifest-list']);
      const groups = listed.filter(hasDeleted).map((one) => [one]);
      if (groups.length === 0 || (await rewriteManifests(work, ref, groups)) > 0) break;
    }
}

function hasDeleted({ content, deleted_files_count }: ListedManifest): boolean {
  return content === 0 && deleted_files_count !== 0;
}

/** Removes all snapshots from the table except those that a ref names. */
async function expireOthers(work: Work): Promise<number> {
  let expired = 0;
  await commitHeld(work, async (held, tx) => {
    const heads = Object.values(held.metadata.refs).map((ref) => String(ref['snapshot-id']));
    const rows = await tx.rows<{ id: string }>(sql`
      SELECT snapshot_id::text AS id FROM lake_snapshots WHERE table_id = ${held.id}::uuid
        AND snapshot_id <> ALL (${heads}::bigint[])`);
    expired = rows.length;
    if (expired === 0) return [];
    return [{ action: 'remove-snapshots', 'snapshot-ids': rows.map(({ id }) => exactId(id)) }];
  });
  return expired;
}
