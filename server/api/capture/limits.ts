import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../deps.ts';
import { startChores } from '../../platform/pacing/chores.ts';
import { addressOf } from '../../platform/http/limits/address.ts';
import { openArrivals } from '../../platform/http/limits/arrivals.ts';
import type { Arrivals } from '../../platform/http/limits/arrivals.ts';
import { openLimiter } from '../../platform/http/limits/rate_limit.ts';
import { openRoom } from '../../platform/http/limits/room.ts';
import type { Place } from '../../platform/http/limits/room.ts';
import { unavailable } from '../../platform/http/errors.ts';
import type { ApiError } from '../../platform/http/errors.ts';

/** Most bytes of bodies that are still being received. */
const arriving_bytes_max = 128 * 1024 * 1024;
/** Most bytes of bodies, received and unpacked, that are processed at once. */
const under_way_bytes_max = 128 * 1024 * 1024;
const synchronise_interval_ms = 1_000;
const late_interval_ms = 1_000;
/** Time limit for receiving the body of a request. */
const arrival_ms_max = 60_000;

/** Limits that keep one sender from using the whole server. */
export type CaptureLimits = {
  /** Reads the bodies of requests. */
  arrivals: Arrivals;
  /** Counts a request of the address; throws 503 if there were too many. */
  countAddress(address: string): void;
  /** Counts a request with events of the project; throws 503 if there were too many. */
  countProject(team_id: number): void;
  /**
   * Does the work while counting the bytes of the address's bodies. Throws 503 above the limit,
   * also during unpacking, so that a small compressed body cannot fill the memory.
   */
  withRoom<Result>(address: string, work: (place: Place) => Promise<Result>): Promise<Result>;
};

/** Creates the limits, which all API processes share, for the lifetime of the app. */
export function openCaptureLimits(app: FastifyInstance, deps: Deps): CaptureLimits {
  const { db, clock, config, log } = deps;
  const keys = openLimiter(db, clock, { per_minute: config.capture_limit_per_key, per_hour: 0 });
  const addresses = openLimiter(db, clock, {
    per_minute: config.capture_limit_per_address,
    per_hour: 0,
  });
  const arrivals = openArrivals(clock, {
    room_bytes_max: arriving_bytes_max,
    arrival_ms_max,
    busy: () => busyCapture(1),
  });
  const room = openRoom(under_way_bytes_max, () => busyCapture(1));
  const chores = [
    ...[keys, addresses].map((limiter) => ({
      name: 'the sharing of counts of requests with events',
      interval_ms: synchronise_interval_ms,
      work: () => limiter.synchronise(),
    })),
    {
      name: 'the end of bodies that come too slowly',
      interval_ms: late_interval_ms,
      work: async () => arrivals.refuseLate(),
    },
  ];
  let running: ReturnType<typeof startChores> | undefined;
  app.addHook('onReady', (done) => {
    running = startChores(chores, log);
    done();
  });
  app.addHook('onClose', async () => running?.stop());
  return {
    arrivals,
    countAddress: (address) => refuse(addresses.take(`capture:${address}`)?.wait_seconds),
    countProject: (team_id) => refuse(keys.take(`capture:${team_id}`)?.wait_seconds),
    withRoom: async (address, work) => {
      const place = room.enter(addressOf(address));
      try {
        return await work(place);
      } finally {
        place.leave();
      }
    },
  };
}

function refuse(wait_seconds: number | undefined): void {
  if (wait_seconds !== undefined) throw busyCapture(wait_seconds);
}

/** Returns 503, so that clients retry. 429 would make browsers discard their events. */
export function busyCapture(wait_seconds: number): ApiError {
  const detail = `The server cannot ingest the events now: send them again in ${wait_seconds} s.`;
  return unavailable(detail, wait_seconds);
}
