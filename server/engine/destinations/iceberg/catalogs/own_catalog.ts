import { randomUUID } from 'node:crypto';
import type { Database, Queryable, Transaction } from '../../../../platform/postgres/database.ts';
import type { Delivery } from '../../../model/destination/destination.ts';
import { NonRetryableError, RetryableError } from '../../../model/destination/errors.ts';
import { commitTable, createTable } from '../../../model/lake_catalog/commit.ts';
import { createNamespace, findNamespace } from '../../../model/lake_catalog/namespaces.ts';
import type { Namespace } from '../../../model/lake_catalog/namespaces.ts';
import { LakeRefused } from '../../../model/lake_catalog/refusal.ts';
import { findTable, holdTable } from '../../../model/lake_catalog/tables.ts';
import type { LakeTable } from '../../../model/lake_catalog/tables.ts';
import { newSnapshotId } from '../../lake/snapshot_change.ts';
import type { TableMetadata, TableState } from '../../lake/table_metadata.ts';
import { lakeFolder, tableName } from '../config.ts';
import { findSnapshot, shownIn } from '../delivered.ts';
import { putFile } from '../world.ts';
import type { Storage } from '../world.ts';
import type { Commit, FileCommit, TableCatalog } from './catalog.ts';
import { requireSameTable } from './same_table.ts';

/**
 * Opens a table of our own catalog. Guarantee: its change and the end of the run are one
 * transaction of the control store, so the state of a commit is never unknown.
 */
export function openOwnCatalog(storage: Storage, db: Database): TableCatalog {
  const { team_id } = storage;
  const name = tableName(storage.config);
  const held = (tx: Transaction) => holdTable(tx, team_id, name);
  const load = () =>
    explained(async () => {
      const table = await findTable(db, team_id, name);
      return table && stateOf(db, table);
    });
  return {
    load,
    loadRecent: load,
    create: ({ location, schema, properties }, delivery) =>
      explained(() =>
        db.transaction(async (tx) => {
          const table = await createTable(
            tx,
            {
              team_id,
              namespace: await namespaceOf(storage, tx, delivery, name.levels),
              name: name.name,
              batch_export_id: delivery.batch_export_id,
            },
            { table_uuid: randomUUID(), location, schema, properties },
            surroundings(storage),
          );
          return { metadata: metadataOf(table), parent: undefined };
        }),
      ),
    change: (commit) => explained(() => db.transaction((tx) => change(storage, tx, held, commit))),
    look: async (delivery) => {
      const table = await findTable(db, team_id, name);
      return table === undefined ? 'absent' : shownIn(db, table, delivery);
    },
    whileHeld: (delivery, work) =>
      db.transaction(async (tx) => {
        const table = await held(tx);
        return work(table === undefined ? 'absent' : await shownIn(tx, table, delivery));
      }),
    snapshotId: async () => newSnapshotId(),
    commit: (commit) => explained(() => showFiles(storage, held, commit)),
  };
}

type Held = (tx: Transaction) => Promise<LakeTable | undefined>;

async function showFiles(
  storage: Storage,
  held: Held,
  { delivery, table_uuid, prepare, end }: FileCommit,
): Promise<void> {
  await end(async (tx) => {
    const table = await held(tx);
    const state = table && (await stateOf(tx, table));
    requireSameTable(state, table_uuid);
    if ((await shownIn(tx, table!, delivery)) === 'shown') return;
    const updates = await prepare(state!);
    if (updates.length > 0)
      await commitTable(tx, table!, { requirements: [], updates }, surroundings(storage));
  });
}

async function change(
  storage: Storage,
  tx: Transaction,
  held: Held,
  commit: Commit,
): Promise<void> {
  const table = await held(tx);
  if (table === undefined)
    throw new RetryableError('conflict', 'The table was dropped. Sluice retries the run.');
  await commitTable(tx, table, commit, surroundings(storage));
}

async function stateOf(db: Queryable, table: LakeTable): Promise<TableState> {
  const current = table.metadata['current-snapshot-id'];
  const parent = current === undefined ? undefined : await findSnapshot(db, table, current);
  return { metadata: metadataOf(table), parent };
}

/** Returns the metadata of a table in the form that the writer of files reads. */
function metadataOf(table: LakeTable): TableMetadata {
  return table.metadata as unknown as TableMetadata;
}

function surroundings(storage: Storage) {
  const writeFile = (uri: string, content: string | Buffer) => putFile(storage, uri, content);
  return { writeFile, now_ms: storage.clock.now() };
}

/** Returns the namespace, and creates missing ones above it. */
async function namespaceOf(
  storage: Storage,
  tx: Transaction,
  { team_id, batch_export_id }: Delivery,
  levels: string[],
): Promise<Namespace> {
  const above = lakeFolder(storage.place, storage.config, team_id);
  let namespace: Namespace | undefined;
  for (let depth = 1; depth <= levels.length; depth += 1) {
    const own = levels.slice(0, depth);
    namespace =
      (await findNamespace(tx, team_id, own)) ??
      (await createNamespace(tx, {
        team_id,
        levels: own,
        properties: {},
        location: `${storage.root}${[above, ...own].filter((part) => part !== '').join('/')}`,
        batch_export_id,
      }));
  }
  return namespace!;
}

/** Returns the result, and rethrows a refusal of our own catalog as a fault of the delivery. */
async function explained<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof LakeRefused)) throw error;
    // Another export, or a client of the catalog, made the same change at this moment.
    if (error.status === 409)
      throw new RetryableError('conflict', `${error.message} Sluice retries the run.`);
    throw new NonRetryableError('table_unsuitable', `The catalog refused it: ${error.message}`);
  }
}
