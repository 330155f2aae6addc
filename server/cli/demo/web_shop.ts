import { openRandom } from './random.ts';
import { events_per_session, sessionEvents } from './session.ts';
import type { DemoEvent } from './session.ts';

/**
 * The days and the number of events to generate. Instants in milliseconds since the epoch, [from,
 * to).
 */
export type WebShopRange = { seed: number; from: number; to: number; events: number };

const hour_ms = 3_600_000;
const visitors_total = 3_000;
// Share of a day's visits per hour, UTC, in per mille: quiet nights, a noon peak, a busy evening.
const rhythm = [
  14, 9, 6, 5, 6, 11, 22, 36, 46, 50, 53, 57, 61, 56, 51, 50, 53, 60, 72, 81, 79, 62, 38, 22,
];
const rhythm_mean = rhythm.reduce((sum, share) => sum + share, 0) / rhythm.length;

/**
 * Generates the events of a web shop in order of time: returning visitors, funnels with losses,
 * days and nights. Guarantees: about `events` of them, none outside [from, to). The same seed and
 * density give the same events with the same uuids for each hour, so a later, overlapping range
 * duplicates nothing. Holds about an hour of events in memory.
 */
export function* generateWebShop(range: WebShopRange): Generator<DemoEvent> {
  const hours = (range.to - range.from) / hour_ms;
  // Rounded, so that ranges of equal length with different starts agree.
  const sessionsPerHour = Math.round((100 * range.events) / hours / events_per_session) / 100;
  let open: DemoEvent[] = [];
  // A visit that started before the range may continue in it.
  for (let hour = Math.floor(range.from / hour_ms) - 1; hour * hour_ms < range.to; hour += 1) {
    open.push(...hourOfSessions(range.seed, hour, sessionsPerHour));
    open.sort((a, b) => (a.timestamp < b.timestamp ? -1 : 1));
    const end = new Date(Math.min((hour + 1) * hour_ms, range.to)).toISOString();
    const start = new Date(range.from).toISOString();
    const ready = open.findIndex((event) => event.timestamp >= end);
    const cut = ready === -1 ? open.length : ready;
    for (const event of open.slice(0, cut)) if (event.timestamp >= start) yield event;
    open = open.slice(cut);
  }
}

function hourOfSessions(seed: number, hour: number, sessionsPerHour: number): DemoEvent[] {
  const random = openRandom(seed, 'hour', hour, sessionsPerHour);
  const expected = (sessionsPerHour * rhythm[hour % 24]!) / rhythm_mean;
  const sessions = Math.floor(expected + random.next());
  return Array.from({ length: sessions }, (_none, index) => {
    // The square makes some visitors regular customers.
    const visitor = Math.floor(visitors_total * random.next() ** 2);
    return sessionEvents(seed, hour * hour_ms + random.below(hour_ms), `${hour}/${index}`, visitor);
  }).flat();
}
