import sql from 'sql-template-tag';
import type { Database, Queryable } from '../../../platform/postgres/database.ts';
import { batchCalls } from '../../../platform/pacing/batched_calls.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import { intakeOf } from './intake.ts';
import type { Intake, Wishes } from './intake.ts';

/**
 * Finds a project's rules and plan for its events. At most a second old: a change applies to every
 * request that begins a second later, in every process. A cached answer returns at once.
 */
export type IntakeFinder = (team_id: number) => Intake | undefined | Promise<Intake | undefined>;

/** Age up to which an answer is valid. */
const intake_age_ms_max = 1_000;
const kept_max = 10_000;

type State = {
  team_id: number;
  version: string;
  fill_device_properties: boolean;
  unplanned_events: Wishes['plan']['unplanned_events'];
};
type Kept = { state: string; intake: Intake | undefined; until: number };

/** Returns the context that seals the key of a project's hash rules. */
export function hashKeyContext(team_id: string | number): string {
  return `ingestion_rule_sets:${team_id}:hash_key`;
}

/** Opens the look-up of one process. */
export function openIntakes(db: Database, secrets: Pick<Secrets, 'open'>): IntakeFinder {
  const kept = new Map<number, Kept>();
  const findState = batchCalls<Database, number, { state: State | undefined }>({
    together: async (_db, ids) => {
      const found = new Map((await states(db, ids)).map((one) => [one.team_id, one]));
      return ids.map((id) => ({ state: found.get(id) }));
    },
    alone: async (_db, id) => ({ state: (await states(db, [id]))[0] }),
  });
  const look = async (team_id: number): Promise<Intake | undefined> => {
    const until = performance.now() + intake_age_ms_max;
    const { state } = await findState(db, team_id);
    // The storing code reports a deleted project.
    if (state === undefined) return undefined;
    const text = JSON.stringify(state);
    const known = kept.get(team_id);
    const intake =
      known?.state === text
        ? known.intake
        : intakeOf(team_id, await loadWishes(db, secrets, state));
    if (kept.size >= kept_max) kept.clear();
    kept.set(team_id, { state: text, intake, until });
    return intake;
  };
  return (team_id) => {
    const known = kept.get(team_id);
    return known !== undefined && performance.now() < known.until ? known.intake : look(team_id);
  };
}

/** Reads the current wishes of a project; undefined if it is gone. */
export async function findWishes(
  db: Queryable,
  secrets: Pick<Secrets, 'open'>,
  team_id: number,
): Promise<Wishes | undefined> {
  const [state] = await states(db, [team_id]);
  return state === undefined ? undefined : loadWishes(db, secrets, state);
}

function states(db: Queryable, ids: number[]): Promise<State[]> {
  return db.rows<State>(sql`
    SELECT p.id AS team_id, p.fill_device_properties, p.unplanned_events,
      coalesce(s.version, 0)::text AS version
    FROM projects p LEFT JOIN ingestion_rule_sets s ON s.team_id = p.id
    WHERE p.id = ANY (${ids}::integer[])`);
}

async function loadWishes(
  db: Queryable,
  secrets: Pick<Secrets, 'open'>,
  { team_id, version, fill_device_properties, unplanned_events }: State,
): Promise<Wishes> {
  const empty = { rules: [], events: [], sealed: null };
  type Row = Pick<Wishes, 'rules'> & Pick<Wishes['plan'], 'events'> & { sealed: Buffer | null };
  const row: Row =
    version === '0'
      ? empty
      : ((await db.row<Row>(sql`
          SELECT s.hash_key AS sealed,
            coalesce((SELECT jsonb_agg(jsonb_build_object('id', r.id, 'events', r.events,
                'action', r.action, 'property', r.property, 'target', r.target,
                'new_name', r.new_name, 'value', r.value, 'only_if_missing', r.only_if_missing)
                ORDER BY r.position, r.created_at, r.id)
              FROM ingestion_rules r WHERE r.team_id = s.team_id AND r.enabled), '[]') AS rules,
            coalesce((SELECT jsonb_agg(jsonb_build_object('event', e.event, 'mode', e.mode,
                'properties', e.properties, 'other_properties', e.other_properties))
              FROM planned_events e WHERE e.team_id = s.team_id), '[]') AS events
          FROM ingestion_rule_sets s WHERE s.team_id = ${team_id}`)) ?? empty);
  const { rules, events, sealed } = row;
  const hash_key = sealed === null ? null : secrets.open(sealed, hashKeyContext(team_id));
  return { rules, hash_key, fill_device_properties, plan: { events, unplanned_events } };
}
