import { createContext, useContext } from 'react';
import { useDrawnDate } from './dates.ts';
import { useNow } from './now.ts';
import { dated, distance, exactly, sinceWhen } from './words.ts';

/** The time zone of instants: the project's, or UTC. */
export const ZoneContext = createContext('UTC');

/**
 * An instant for people: its distance from now, or with `is_exact` date and time; a tooltip has
 * both, in the project's time zone and in UTC. The page's head names the time zone.
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

/** A recent instant, without its date if it is today; a tooltip has the date and the distance. */
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
