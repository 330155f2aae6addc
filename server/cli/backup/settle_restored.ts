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

/** The result for each export, and further notes for a person, in sentences. */
export type Restored = { exports: Reconciled[]; said: string[] };

/** The restored backup and its place. */
type RestoredFrom = {
  place: BackupPlace;
  backup: KnownBackup;
  passphrase: string;
  lost: LostStore | undefined;
};

/**
 * Brings restored stores to this release, takes out of them again what was erased after the backup,
 * as far as it is known, and brings the ledgers to what the destinations hold.
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
      // A control store that was kept knows what was delivered, also to who cannot say it.
      return { exports: await reconcileAll(engine, { assumption: 'missing' }), said };
    }
    const said = await restoreControl(engine, stores, from, signal);
    return { exports: await reconcileAll(engine), said };
  } finally {
    await opened.close();
  }
}

/** The control store is as old as the backup. Erasures go first: no row of them is delivered. */
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
