import { setTimeout as pause } from 'node:timers/promises';
import { startLoop } from '../../../platform/pacing/loop.ts';
import { sweepCache } from './cache.ts';
import { LeaseLostError, claimConfigs, getState, releaseLease, renewLeases } from './leases.ts';
import type { Lease } from './leases.ts';
import { loadConfig } from './loaded_config.ts';
import type { LoadedConfig } from './loaded_plugin.ts';
import { openPluginLog } from './plugin_log.ts';
import type { PluginLog } from './plugin_log.ts';
import { takeReplayTurn } from './replaying/replay_turn.ts';
import type { Running } from './running.ts';
import { sweepPoints } from '../trace/delivery_points.ts';
import { tellOfTools } from './sending/tell_of_tools.ts';
import { countFailure, takeTurn } from './take_turn.ts';
import type { TurnEnd } from './take_turn.ts';

/** Number of configs that one process loads, and the time for which an idle one stays loaded. */
type RunnerLimits = { configs_max: number; idle_seconds: number };

/** Runs plugins until it is stopped. */
type PluginRunner = {
  /**
   * Claims nothing new, lets work in progress reach a safe point (5 s at most), and releases
   * everything.
   */
  stop(): Promise<void>;
};

const claim_pause_ms = 500;
const turn_pause_ms = 500;
const renew_pause_ms = 2_000;
const sweep_pause_ms = 60_000;
const tell_pause_ms = 5_000;
const stop_ms_max = 5_000;
/** Time limit of `teardownPlugin`. */
const close_ms_max = 5_000;
/** Shorter than a lease: a worker that could not renew it stops before another one begins. */
const unrenewed_ms_max = 7_000;
/** After this time, a config with constant work makes room for a waiting one. */
const held_ms_max = 30_000;

type Held = { lease: Lease; lost: AbortController; ended: Promise<void> };

/**
 * Runs plugins: claims configs with work, loads each once, runs its events, tasks and jobs one
 * after the other, and releases it when it is idle. Guarantees: one worker at a time runs a config,
 * and another claims it within about ten seconds of the worker's death. Changed settings and code
 * are loaded before the next call. A disabled config stops within about two seconds.
 */
export function startPluginRunner(running: Running, limits: RunnerLimits): PluginRunner {
  const held = new Set<Held>();
  const stopping = new AbortController();
  const hold = (lease: Lease): void => {
    const lost = new AbortController();
    const entry: Held = { lease, lost, ended: Promise.resolve() };
    held.add(entry);
    entry.ended = runConfig(running, limits, lease, {
      signal: lost.signal,
      stopping: stopping.signal,
      isFull: () => held.size >= limits.configs_max,
    }).finally(() => {
      held.delete(entry);
    });
  };
  const claim = startLoop('claiming plugins', claim_pause_ms, running.log, async () => {
    const free = limits.configs_max - held.size;
    if (free <= 0) return;
    for (const lease of await claimConfigs(running.db, free, running.worker.id)) hold(lease);
  });
  const tell = startLoop('telling of tools', tell_pause_ms, running.log, async () => {
    await tellOfTools(running);
  });
  const renew = startLoop(
    'renewing the leases of plugins',
    renew_pause_ms,
    running.log,
    renewing(running, held),
  );
  const sweep = startLoop(
    'removing expired data of plugins',
    sweep_pause_ms,
    running.log,
    async () => {
      await sweepCache(running.db);
      await sweepPoints(running.db);
    },
  );
  return {
    stop: async () => {
      await Promise.all([claim.stop(), sweep.stop(), tell.stop()]);
      stopping.abort();
      const cut = setTimeout(
        () => held.forEach(({ lost }) => lost.abort(new LeaseLostError())),
        stop_ms_max,
      );
      await Promise.all([...held].map(({ ended }) => ended));
      clearTimeout(cut);
      await renew.stop();
    },
  };
}

/** Runs one turn of the renewal: gives up leases that are too old or claimed by others. */
function renewing(running: Running, held: Set<Held>): () => Promise<void> {
  let renewed_at = performance.now();
  return async () => {
    const entries = [...held];
    // A timer of its own, because an answer of the control store that never comes must not delay
    // the check.
    const late = setTimeout(
      () => entries.forEach(({ lost }) => lost.abort(new LeaseLostError())),
      Math.max(renewed_at + unrenewed_ms_max - performance.now(), 0),
    );
    try {
      const leases = entries.map(({ lease }) => lease);
      const kept = leases.length === 0 ? [] : await renewLeases(running.db, leases);
      renewed_at = performance.now();
      for (const { lease, lost } of entries)
        if (!kept.includes(lease)) lost.abort(new LeaseLostError());
    } finally {
      // After a failure, the next turn counts from the same instant.
      clearTimeout(late);
    }
  };
}

type Watch = { signal: AbortSignal; stopping: AbortSignal; isFull(): boolean };

/** Never rejects: after any error, the config is claimed again. */
async function runConfig(
  running: Running,
  limits: RunnerLimits,
  lease: Lease,
  watch: Watch,
): Promise<void> {
  const log = openPluginLog(running.db, running.log, lease.config_id, () => running.clock.now());
  const loaded: { plugin: LoadedConfig | undefined } = { plugin: undefined };
  try {
    await takeTurns(running, limits, lease, watch, log, loaded);
  } catch (error) {
    if (!(error instanceof LeaseLostError))
      running.log.warn(
        { err: error, plugin_config_id: lease.config_id },
        'a plugin was interrupted and continues',
      );
  }
  const closed = loaded.plugin
    ?.close()
    .catch((error: unknown) =>
      running.log.warn(
        { err: error, plugin_config_id: lease.config_id },
        'a plugin could not be closed',
      ),
    );
  const late = new AbortController();
  await Promise.race([
    closed,
    pause(close_ms_max, undefined, { signal: late.signal }).catch(() => undefined),
  ]);
  late.abort();
  await Promise.all([log.flush(), loaded.plugin?.saveMetrics()]);
  // If this fails, the lease expires.
  await releaseLease(running.db, lease).catch(() => undefined);
}

async function takeTurns(
  running: Running,
  limits: RunnerLimits,
  lease: Lease,
  { signal, stopping, isFull }: Watch,
  log: PluginLog,
  loaded: { plugin: LoadedConfig | undefined },
): Promise<void> {
  const began_at = performance.now();
  let idle_since = began_at;
  while (!stopping.aborted) {
    signal.throwIfAborted();
    const state = await getState(running.db, lease);
    if (loaded.plugin !== undefined && loaded.plugin.fingerprint !== state.fingerprint) {
      const before = loaded.plugin;
      loaded.plugin = undefined;
      await before.close();
      await before.saveMetrics();
    }
    const isDue =
      !state.is_waiting &&
      (state.has_events ||
        state.has_jobs ||
        state.has_deletions ||
        state.has_replays ||
        state.tasks.length > 0);
    let end: TurnEnd = 'idle';
    if (isDue) {
      loaded.plugin ??= await loadConfig(running, lease, state, log).catch(
        async (error: unknown) => {
          if (error instanceof LeaseLostError) throw error;
          end = await countFailure({ running, lease, log }, state, error);
          return undefined;
        },
      );
      if (loaded.plugin !== undefined) {
        const delivery = { running, lease, plugin: loaded.plugin, log, signal, stopping };
        end = await takeTurn(delivery, state);
        const isFree = state.has_replays && end !== 'stopped';
        if (isFree && (await takeReplayTurn(delivery))) end = 'worked';
      }
    }
    await Promise.all([log.flush(), loaded.plugin?.saveMetrics()]);
    if (end === 'stopped') return;
    if (end === 'worked') idle_since = performance.now();
    const now = performance.now();
    if (now - idle_since > limits.idle_seconds * 1000 || (isFull() && now - began_at > held_ms_max))
      return;
    if (end === 'idle')
      await pause(turn_pause_ms, undefined, { signal: AbortSignal.any([signal, stopping]) }).catch(
        () => undefined,
      );
  }
}
