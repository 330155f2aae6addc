import { useQuery } from '@tanstack/react-query';
import { Section } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
import { EventList } from './event_list.tsx';
import { own_security_events } from './security_events.ts';

/** The person's own recent refusals, and their sign-ins from new devices. */
export function OwnSecuritySection() {
  const query = useQuery(own_security_events);
  return (
    <Section title="Refusals and new devices">
      <Shown query={query}>
        {({ results }) =>
          results.length === 0 ? (
            <p className="empty">Nothing was refused.</p>
          ) : (
            <>
              <p>If you do not recognize an entry, change your password and end your sessions.</p>
              <EventList events={results} />
            </>
          )
        }
      </Shown>
    </Section>
  );
}
