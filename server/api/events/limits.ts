import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../deps.ts';
import { startChores } from '../../platform/pacing/chores.ts';
import { unavailable } from '../../platform/http/errors.ts';
import type { ApiError } from '../../platform/http/errors.ts';
import { openArrivals } from '../../platform/http/limits/arrivals.ts';
import type { Arrivals } from '../../platform/http/limits/arrivals.ts';
import { openRoom } from '../../platform/http/limits/room.ts';
import type { Room } from '../../platform/http/limits/room.ts';

/**
 * Most bytes of bodies that are received or processed: in total; one project may hold half of it.
 */
const room_bytes_max = 256 * 1024 * 1024;
/** Time limit for receiving a JSON body. */
const arrival_ms_max = 300_000;
const late_interval_ms = 1_000;
const wait_seconds = 1;

/** Limits that keep one project's bodies from filling the memory. */
export type EventLimits = { arrivals: Arrivals; room: Room };

/** Creates the limits for the lifetime of the app. */
export function openEventLimits(app: FastifyInstance, { clock, log }: Deps): EventLimits {
  const arrivals = openArrivals(clock, { room_bytes_max, arrival_ms_max, busy });
  const chore = {
    name: 'the end of events that come too slowly',
    interval_ms: late_interval_ms,
    work: async () => arrivals.refuseLate(),
  };
  let running: ReturnType<typeof startChores> | undefined;
  app.addHook('onReady', (done) => {
    running = startChores([chore], log);
    done();
  });
  app.addHook('onClose', async () => running?.stop());
  return { arrivals, room: openRoom(room_bytes_max, busy) };
}

/** Returns the 503 while earlier events have to be stored first. */
function busy(): ApiError {
  return unavailable(
    `The server is receiving too many bytes of events: send them again in ${wait_seconds} s, ` +
      'fewer at a time, or as NDJSON.',
    wait_seconds,
  );
}
