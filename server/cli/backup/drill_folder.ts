import { existsSync, mkdtempSync, readdirSync, rmSync, lstatSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFolderHolder, lockDataFolder } from '../../platform/folders/data_folder.ts';
import { signal_exit_codes, stopSignal } from '../process/stop_signal.ts';

const prefix = 'sluice-drill-';
/** Most attempts to delete the folder, and how long it must stay deleted. */
const removals_max = 20;
const removal_ms = 200;

/**
 * Creates the folder of a drill among the temporary folders. It is deleted when this process is
 * stopped; the leftover of a killed drill is deleted now. Nobody would expect a copy of all data
 * there, with its keys.
 */
export function openDrillFolder(): string {
  removeLeft();
  const folder = mkdtempSync(join(tmpdir(), prefix));
  lockDataFolder(folder);
  void removeWhenStopped(folder);
  return folder;
}

function removeLeft(): void {
  for (const name of readdirSync(tmpdir())) {
    const folder = join(tmpdir(), name);
    if (name.startsWith(prefix) && isLeft(folder)) rmSync(folder, { recursive: true, force: true });
  }
}

/** A folder without a lock may have just been created. */
function isLeft(folder: string): boolean {
  return (
    lstatSync(folder, { throwIfNoEntry: false })?.uid === process.getuid?.() &&
    existsSync(join(folder, 'server.lock')) &&
    findFolderHolder(folder) === undefined
  );
}

async function removeWhenStopped(folder: string): Promise<void> {
  const signal = await stopSignal();
  // The set-up of the copy's stores continues for a moment and may recreate a folder. This loop is
  // synchronous, so that the rest of this process waits meanwhile.
  for (let tries = 0; tries < removals_max; tries += 1) {
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, removal_ms);
    if (!existsSync(folder)) break;
  }
  process.exit(signal_exit_codes[signal]);
}
