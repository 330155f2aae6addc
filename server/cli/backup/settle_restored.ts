import type { Engine } from '../../engine/exports/engine.ts';
import { keepClear, removeAgain } from '../../engine/exports/reconcile/kept_store.ts';
import { reconcileAll } from '../../engine/exports/reconcile/reconcile.ts';
import type { Reconciled } from '../../engine/exports/reconcile/reconcile.ts';
import { setAside } from '../../engine/exports/runs/hold_until_reconciled.ts';
import type { CommandContext } from '../command_context.ts';
import { openProcess } from '../process/process.ts';
import type { Stores } from '../stores/stores.ts';
import { eraseAgain } from './erase_again.ts';
import { enterLaterErasures } from './later_backups.ts';
import type { LostStore } from './lost_store.ts';
import type { KnownBackup } from './manifest.ts';
import type { BackupPlace } from './places/place.ts';

const remove_ms_max = 24 * 3_600_000;

/** The result for each export, and notes for the operator, in sentences. */
export type Restored = { exports: Reconciled[]; said: string[] };

/** The restored backup and its place. */
type RestoredFrom = {
  place: BackupPlace;
  backup: KnownBackup;
  passphrase: string;
  lost: LostStore | undefined;
};

/**
 * Migrates restored stores to this release, repeats the known erasures after the backup, and
 * reconciles the ledgers with the destinations.
 */
export async function settleRestored(
  { config, log }: Pick<CommandContext, 'config' | 'log'>,
  stores: Stores,
  from: RestoredFrom,
): Promise<Restored> {
  const opened = await openProcess(config, stores, log, 'command');
  try {
    const { engine } = opened.deps;
    const { taken_at, control_taken_at } = from.backup.manifest;
    const signal = AbortSignal.timeout(remove_ms_max);
    if (from.lost === 'clickhouse') {
      const said = await removeAgain(engine, taken_at, signal);
      await setAside(engine.db, { taken_at, control_taken_at });
      // A kept control store knows the deliveries, also for destinations that cannot be asked.
      return { exports: await reconcileAll(engine, { assumption: 'missing' }), said };
    }
    const said = await restoreControl(engine, stores, from, signal);
    return { exports: await reconcileAll(engine), said };
  } finally {
    await opened.close();
  }
}

/**
 * The control store is as old as the backup. Erasures come first, so that none of their rows is
 * delivered.
 */
async function restoreControl(
  engine: Engine,
  stores: Stores,
  { place, backup, passphrase, lost }: RestoredFrom,
  signal: AbortSignal,
): Promise<string[]> {
  const { taken_at, control_taken_at } = backup.manifest;
  const clear = lost === 'postgres' ? await keepClear(engine) : undefined;
  const from = { place, backup, passphrase };
  const known = await enterLaterErasures(stores.database_url, from);
  await setAside(engine.db, { taken_at, control_taken_at: clear?.latest ?? control_taken_at });
  return [...(clear?.said ?? []), ...(await eraseAgain(engine, known, signal))];
}
