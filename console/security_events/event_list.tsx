import type { ReactNode } from 'react';
import type { SecurityEventRow } from '../../server/api/security_events/schema.ts';
import { browserOf } from '../sessions/browser_name.ts';
import { Instant } from '../time/instant.tsx';
import { sentenceOf } from './event_words.ts';

/**
 * Security events as a list; `about` renders the person of an event, if the page does not imply it.
 */
export function EventList({
  events,
  about,
}: {
  events: SecurityEventRow[];
  about?: (event: SecurityEventRow) => ReactNode;
}) {
  return (
    <ul className="records">
      {events.map((event) => (
        <li key={event.id}>
          <div>
            <p>
              {sentenceOf(event)}
              {event.count > 1 && <strong> {event.count} times</strong>} {about?.(event)}
            </p>
            <p className="muted">
              <From event={event} /> <code>{`${event.method} ${event.route}`}</code>
            </p>
          </div>
          <p className="muted">
            <Instant at={event.created_at} />
          </p>
        </li>
      ))}
    </ul>
  );
}

function From({ event: { ip, user_agent, key_mask } }: { event: SecurityEventRow }) {
  return (
    <span title={user_agent}>
      From {ip}
      {key_mask === null ? (
        <>, {browserOf(user_agent)}</>
      ) : (
        <>
          {' '}
          with the key <code>{key_mask}</code>
        </>
      )}
      :
    </span>
  );
}
