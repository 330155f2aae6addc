import sql from 'sql-template-tag';
import type { Logger } from '../../../platform/log.ts';
import type { Database } from '../../../platform/postgres/database.ts';

/** The counts of a point. */
export type CountedAttempt = 'delivered' | 'retried' | 'set_aside';

/** The points of one config's charts. */
export type DeliveryPoints = {
  /**
   * Counts an attempt at this moment; `delay_ms` is the time from an event's storing to its
   * delivery. Never throws.
   */
  count(counted: CountedAttempt, now_ms: number, delay_ms?: number): void;
  /**
   * Adds the new counts to the stored ones. Never rejects: counts that cannot be stored now wait.
   */
  flush(): Promise<void>;
};

type Point = {
  start_ms: number;
  delivered: number;
  retried: number;
  set_aside: number;
  delayed: number;
  delay_ms_sum: number;
  delay_ms_max: number;
};

const point_ms = 600_000;
const kept_days = 90;

/** Opens the points of a config: one for ten minutes. */
export function openDeliveryPoints(db: Database, log: Logger, config_id: number): DeliveryPoints {
  let points = new Map<number, Point>();
  const pointOf = (now_ms: number): Point => {
    const start_ms = Math.floor(now_ms / point_ms) * point_ms;
    const found = points.get(start_ms) ?? {
      start_ms,
      delivered: 0,
      retried: 0,
      set_aside: 0,
      delayed: 0,
      delay_ms_sum: 0,
      delay_ms_max: 0,
    };
    points.set(start_ms, found);
    return found;
  };
  return {
    count: (counted, now_ms, delay_ms) => {
      const point = pointOf(now_ms);
      point[counted] += 1;
      if (delay_ms === undefined) return;
      point.delayed += 1;
      point.delay_ms_sum += delay_ms;
      point.delay_ms_max = Math.max(point.delay_ms_max, delay_ms);
    },
    flush: async () => {
      const written = points;
      points = new Map();
      for (const point of written.values()) {
        try {
          await addPoint(db, config_id, point);
        } catch (error) {
          points.set(point.start_ms, joined(point, points.get(point.start_ms)));
          log.warn({ err: error, plugin_config_id: config_id }, 'a point could not be stored');
        }
      }
    },
  };
}

function joined(one: Point, other: Point | undefined): Point {
  if (other === undefined) return one;
  return {
    start_ms: one.start_ms,
    delivered: one.delivered + other.delivered,
    retried: one.retried + other.retried,
    set_aside: one.set_aside + other.set_aside,
    delayed: one.delayed + other.delayed,
    delay_ms_sum: one.delay_ms_sum + other.delay_ms_sum,
    delay_ms_max: Math.max(one.delay_ms_max, other.delay_ms_max),
  };
}

/** Drops points of a config that was deleted meanwhile. */
async function addPoint(db: Database, config_id: number, point: Point): Promise<void> {
  await db.run(sql`
    INSERT INTO plugin_delivery_points AS p (plugin_config_id, start_at, delivered, retried,
      set_aside, delayed, delay_ms_sum, delay_ms_max)
    SELECT c.id, ${new Date(point.start_ms).toISOString()}::timestamptz,
      ${point.delivered}::bigint, ${point.retried}::bigint, ${point.set_aside}::bigint,
      ${point.delayed}::bigint, ${point.delay_ms_sum}::float8, ${point.delay_ms_max}::float8
    FROM plugin_configs c WHERE c.id = ${config_id}
    ON CONFLICT (plugin_config_id, start_at) DO UPDATE SET
      delivered = p.delivered + excluded.delivered, retried = p.retried + excluded.retried,
      set_aside = p.set_aside + excluded.set_aside, delayed = p.delayed + excluded.delayed,
      delay_ms_sum = p.delay_ms_sum + excluded.delay_ms_sum,
      delay_ms_max = greatest(p.delay_ms_max, excluded.delay_ms_max)`);
}

/** Removes points older than 90 days. */
export async function sweepPoints(db: Database): Promise<void> {
  await db.run(sql`DELETE FROM plugin_delivery_points
    WHERE start_at < now() - make_interval(days => ${kept_days})`);
}
