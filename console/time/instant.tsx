import { createContext, useContext } from 'react';
import { useDrawnDate } from './dates.ts';
import { useNow } from './now.ts';
import { dated, distance, exactly, sinceWhen } from './words.ts';

/** The zone in which instants are written: the project's, else UTC. */
export const ZoneContext = createContext('UTC');

/**
 * An instant for people: how far it is from now, or with `is_exact` the date and hour; pointing at
 * it tells both, in the zone of the project and in UTC. The head of the page names the zone.
 */
export function Instant({ at, is_exact = false }: { at: string; is_exact?: boolean }) {
  const zone = useContext(ZoneContext);
  const words = distance(at, useNow());
  useDrawnDate(is_exact);
  return (
    <time dateTime={at} title={`${exactly(at, zone)} (${words})`}>
      {is_exact ? dated(at, zone) : words}
    </time>
  );
}

/**
 * An instant of what goes on, of today without its date; pointing at it tells the date and the
 * distance.
 */
export function Since({ at, is_precise = false }: { at: string; is_precise?: boolean }) {
  const zone = useContext(ZoneContext);
  const now_ms = useNow();
  useDrawnDate(true);
  return (
    <time dateTime={at} title={`${exactly(at, zone)} (${distance(at, now_ms)})`}>
      {sinceWhen(at, zone, now_ms, is_precise)}
    </time>
  );
}
