import type { ConfigState, Lease } from './leases.ts';
import type { LoadedConfig } from './loaded_plugin.ts';
import type { PluginLog } from './plugin_log.ts';
import type { Running } from './running.ts';

/**
 * The parts of a delivery. `stopping` is aborted when the worker shall end at the next safe point,
 * `signal` when it must stop at once.
 */
export type Delivery = {
  running: Running;
  lease: Lease;
  plugin: LoadedConfig;
  log: PluginLog;
  signal: AbortSignal;
  stopping: AbortSignal;
};

/** The place of a delivery, its failures in a row, and whether something was taken. */
export type DeliveryProgress = Pick<ConfigState, 'position' | 'failures'> & {
  has_worked: boolean;
};

/**
 * The end of a turn: `waiting`, a batch is neither full nor old enough; `stopping`, before the end
 * of the events; `paced`, more is taken after so many seconds; `failed`, the events that are left
 * have to be tried again, and nothing is stored of the failure.
 */
export type DeliveryEnd =
  | { kind: 'done' | 'waiting' | 'stopping' }
  | { kind: 'paced'; wait_seconds: number }
  | { kind: 'failed'; error: Error; progress: DeliveryProgress };
