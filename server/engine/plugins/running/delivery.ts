import type { ConfigState, Lease } from './leases.ts';
import type { LoadedConfig } from './loaded_plugin.ts';
import type { PluginLog } from './plugin_log.ts';
import type { Running } from './running.ts';

/**
 * The parts of a delivery. `stopping` aborts when the worker shall end at the next safe point,
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

/**
 * The position of a delivery, its failures in a row, and whether the destination accepted
 * something.
 */
export type DeliveryProgress = Pick<ConfigState, 'position' | 'failures'> & {
  has_worked: boolean;
};

/**
 * The end of a turn. `waiting`: a batch is neither full nor old enough. `stopping`: before the end
 * of the events. `paced`: the destination accepts more after this many seconds. `failed`: the
 * remaining events must be retried, and the failure is not stored yet.
 */
export type DeliveryEnd =
  | { kind: 'done' | 'waiting' | 'stopping' }
  | { kind: 'paced'; wait_seconds: number }
  | { kind: 'failed'; error: Error; progress: DeliveryProgress };
