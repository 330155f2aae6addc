import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../deps.ts';
import { startChores } from '../../platform/chores.ts';
import { openLimiter } from '../../platform/http/limits/rate_limit.ts';
import { openArrivals } from './read/arriving.ts';
import type { Arrivals } from './read/arriving.ts';
import { busyCapture } from './busy.ts';

/** How many bytes of unpacked bodies are worked on at once; beyond that it is too busy. */
const under_way_bytes_max = 128 * 1024 * 1024;
const synchronise_interval_ms = 1_000;
const late_interval_ms = 1_000;

/** What keeps one sender from taking the server from the others. */
export type CaptureLimits = {
  /** Reads the bodies of requests. */
  arrivals: Arrivals;
  /** Counts a request of the address; throws 503 when there were too many. */
  countAddress(address: string): void;
  /** Counts a request with events of the project; throws 503 when there were too many. */
  countProject(team_id: number): void;
  /** Does the work with a body of so many bytes, unless there are too many under way: 503. */
  withRoom<Result>(bytes: number, work: () => Promise<Result>): Promise<Result>;
};

/** Opens the limits, which all API processes share, for as long as the app runs. */
export function openCaptureLimits(app: FastifyInstance, deps: Deps): CaptureLimits {
  const { db, clock, config, log } = deps;
  const keys = openLimiter(db, clock, { per_minute: config.capture_limit_per_key, per_hour: 0 });
  const addresses = openLimiter(db, clock, {
    per_minute: config.capture_limit_per_address,
    per_hour: 0,
  });
  const arrivals = openArrivals(clock);
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
  let under_way = 0;
  return {
    arrivals,
    countAddress: (address) => refuse(addresses.take(`capture:${address}`)?.wait_seconds),
    countProject: (team_id) => refuse(keys.take(`capture:${team_id}`)?.wait_seconds),
    withRoom: async (bytes, work) => {
      if (under_way > 0 && under_way + bytes > under_way_bytes_max) throw busyCapture(1);
      under_way += bytes;
      try {
        return await work();
      } finally {
        under_way -= bytes;
      }
    },
  };
}

function refuse(wait_seconds: number | undefined): void {
  if (wait_seconds !== undefined) throw busyCapture(wait_seconds);
}
