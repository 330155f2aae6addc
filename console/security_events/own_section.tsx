import { useQuery } from '@tanstack/react-query';
import { Empty } from '../page/empty.tsx';
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
            <Empty title="Nothing was refused">
              Refused sign-ins and sign-ins from new devices get an entry here. If you do not
              recognize one, change your password.
            </Empty>
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
