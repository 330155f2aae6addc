import type { ReplayRow } from '../../../server/api/plugin_configs/deliveries/schema.ts';
import type { State } from '../../batch_exports/state.ts';
import { pathTo } from '../../http/path.ts';
import { reading } from '../../http/reading.ts';

/** A plugin config of a project. */
export type Given = { project_id: string; config_id: number };

/** Its path in the API. */
export const of = '/api/projects/:project_id/plugin_configs/:id/';

/** The parameters of its path. */
export const idsOf = ({ project_id, config_id }: Given) => ({ project_id, id: config_id });

/** The progress of a delivery. */
export function deliveryOf(given: Given) {
  return reading(pathTo(`${of}delivery/`, idsOf(given)), { is_busy: () => true });
}

/** The filter of the events that were set aside. */
export type AsideFilter = { event?: string; mapping?: string; reason?: string };

/** The events that were set aside, newest first. */
export function setAsideOf(given: Given, filter: AsideFilter) {
  return reading(pathTo(`${of}set_aside/`, idsOf(given), { ...filter, limit: 50 }), {
    is_busy: () => true,
  });
}

/** One of them, with requests and answers. */
export function setAsideRecord({ project_id, config_id }: Given, set_aside_id: number) {
  return reading(
    pathTo(`${of}set_aside/:set_aside_id/`, { project_id, id: config_id, set_aside_id }),
  );
}

/** The replays, newest first. */
export function replaysOf(given: Given) {
  return reading(pathTo(`${of}replays/`, idsOf(given), { limit: 10 }), {
    is_busy: ({ results }) => results.some(({ finished_at }) => finished_at === null),
  });
}

/** The points of the last days: by ten minutes for one day, otherwise by hour. */
export function pointsOf(given: Given, days: number, before: string) {
  const after = new Date(Date.parse(before) - days * 86_400_000).toISOString();
  const interval = days === 1 ? 'point' : days <= 30 ? 'hour' : 'day';
  return reading(pathTo(`${of}delivery/metrics/`, idsOf(given), { after, before, interval }));
}

/** States of a replay. */
export const replay_states: Record<ReplayRow['state'], State> = {
  DryRun: { word: 'Counted', tone: 'muted' },
  Running: { word: 'Running', tone: 'muted', shape: 'play' },
  Waiting: { word: 'Waiting', tone: 'warn', shape: 'turn' },
  Completed: { word: 'Completed', tone: 'good' },
  Cancelled: { word: 'Cancelled', tone: 'warn', shape: 'stop' },
  Failed: { word: 'Failed', tone: 'bad' },
};

/** The state of a delivery. */
export function stateOfDelivery({
  is_enabled,
  failures,
  retry_at,
  set_aside,
  error,
}: {
  is_enabled: boolean;
  failures: number | null;
  retry_at: string | null;
  /** The events that the tool did not take, and that wait for a decision. */
  set_aside: number;
  error: string | undefined;
}): State {
  if (!is_enabled) return { word: 'Off', tone: 'muted', shape: 'pause' };
  if (error !== undefined) return { word: 'Waiting for you', tone: 'bad' };
  if (retry_at !== null || (failures ?? 0) > 0)
    return { word: 'Retrying', tone: 'warn', shape: 'turn' };
  if (set_aside > 0) return { word: 'Partly delivered', tone: 'warn', shape: 'half' };
  return { word: 'Delivering', tone: 'good' };
}
