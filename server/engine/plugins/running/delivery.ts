import type { ConfigState, Lease } from './leases.ts';
import type { LoadedConfig } from './loaded_config.ts';
import type { PluginLog } from './plugin_log.ts';
import type { PluginEvent } from './read_events.ts';
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

/** Events in their order; where `isErased`, what is left of them is read anew. */
export type DeliveryBatch = { events: PluginEvent[]; isErased(): Promise<boolean> };

/**
 * The end of a turn: `waiting`, a batch is neither full nor old enough; `stopping`, before the end
 * of the batch; `paced`, the tool takes more after so many seconds; `failed`, the same batch has to
 * be retried; `failed too often`, so many consecutive events were skipped that the config must
 * stop. The last two have stored nothing.
 */
export type DeliveryEnd =
  | { kind: 'done' | 'waiting' | 'stopping' }
  | { kind: 'paced'; wait_seconds: number }
  | {
      kind: 'failed' | 'failed too often';
      error: unknown;
      progress: Pick<ConfigState, 'position' | 'failures' | 'series'>;
    };

/**
 * Progress of a delivery; `until` undefined: the events are handed over in a further step, so the
 * position stays.
 */
export type DeliveryProgress = Pick<ConfigState, 'position' | 'failures' | 'series'> & {
  succeeded(until: PluginEvent | undefined): void;
  passedOver(until: PluginEvent | undefined): void;
};

/** Begins where the config stands. */
export function openProgress({ position, failures, series }: ConfigState): DeliveryProgress {
  const move = (until: PluginEvent | undefined): void => {
    if (until !== undefined)
      progress.position = { inserted_at: until.inserted_at, event_uuid: until.uuid };
  };
  const progress: DeliveryProgress = {
    position,
    failures,
    series,
    succeeded: (until) => {
      move(until);
      progress.failures = 0;
      progress.series = null;
    },
    passedOver: (until) => {
      progress.series ??= progress.position;
      progress.failures += 1;
      move(until);
    },
  };
  return progress;
}
