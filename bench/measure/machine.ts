import { closeSync, fsyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import os from 'node:os';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Describes the machine in one sentence without a full stop. */
export function describeMachine(): string {
  const [first, ...others] = os.cpus();
  const gigabytes = Math.round(os.totalmem() / 1e9);
  return (
    `${others.length + 1} cores (${first!.model.trim()}), ${gigabytes} GB, a disk that takes ` +
    `${diskSpeed().toFixed(0)} MB/s with its flush; Linux ${os.release()}, Node ${process.version}`
  );
}

/** Returns the number of runnable processes, on average over the last minute. */
export function machineLoad(): string {
  return os.loadavg()[0]!.toFixed(1);
}

/** MB (10^6 bytes) per second, for 256 MB that are written to the temporary folder and flushed. */
function diskSpeed(): number {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  const megabyte = Buffer.alloc(1_000_000, 'sluice');
  try {
    const file = openSync(join(folder, 'bytes'), 'w');
    const began = performance.now();
    for (let written = 0; written < 256; written += 1) writeSync(file, megabyte);
    fsyncSync(file);
    const seconds = (performance.now() - began) / 1_000;
    closeSync(file);
    return 256 / seconds;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
