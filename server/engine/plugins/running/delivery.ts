import type { ConfigState, Lease } from './leases.ts';
import type { LoadedConfig } from './loaded_config.ts';
import type { PluginLog } from './plugin_log.ts';
import type { PluginEvent } from './read_events.ts';
import type { Running } from './running.ts';

/**
 * What a delivery works with. `stopping` is aborted when the worker shall end at the next safe
 * point, `signal` when it must not do anything more.
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
 * How a turn ended: `waiting`, a batch is not full and not old enough yet; `stopping`, before the
 * end of the batch; `failed`, the same has to be tried again; `failed too often`, so many events in
 * a row were
 * passed over that the config is to be stopped. The last two have kept nothing.
 */
export type DeliveryEnd =
  | { kind: 'done' | 'waiting' | 'stopping' }
  | {
      kind: 'failed' | 'failed too often';
      error: unknown;
      progress: Pick<ConfigState, 'position' | 'failures' | 'series'>;
    };

/**
 * What a delivery has come to; `until` undefined: the events are handed over in a further step, so
 * the place stays.
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
