import { useQuery } from '@tanstack/react-query';
import type { SessionRow } from '../../server/api/sessions/schema.ts';
import { Form } from '../form/form.tsx';
import { Section, useDone } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
import { Instant } from '../time/instant.tsx';
import { exactly } from '../time/words.ts';
import { sessions } from './sessions.ts';

/** The browsers in which the person is signed in, each with a button that ends it. */
export function SessionSection() {
  const query = useQuery(sessions);
  return (
    <Section title="Sessions">
      <Shown query={query}>
        {({ count, results }) => (
          <>
            <ul className="records">
              {results.map((session) => (
                <Session key={session.id} session={session} />
              ))}
            </ul>
            {count > results.length && (
              <p>
                The newest {results.length} of {count} are shown.
              </p>
            )}
            {count > 1 && <EndOthers />}
          </>
        )}
      </Shown>
    </Section>
  );
}

function Session({ session }: { session: SessionRow }) {
  const { id, method, ip, user_agent, created_at, last_used_at, is_current } = session;
  const done = useDone();
  return (
    <li>
      <div>
        <p>{user_agent === '' ? 'An unnamed browser' : user_agent}</p>
        <p className="muted">
          From {ip} by {method}, begun <Instant at={created_at} />, last used{' '}
          <Instant at={last_used_at} />
        </p>
      </div>
      {is_current ? (
        <span className="good">this browser</span>
      ) : (
        <Form
          method="DELETE"
          path={`/api/sessions/${id}/`}
          done={() => done('The session was ended.', sessions)}
          button="End"
          about={`the session from ${ip}, begun ${exactly(created_at, 'UTC')}`}
          tone="danger"
        />
      )}
    </li>
  );
}

function EndOthers() {
  const done = useDone();
  return (
    <Form
      method="DELETE"
      path="/api/sessions/"
      done={() => done('All your other sessions were ended.', sessions)}
      button="End all others"
      tone="danger"
    />
  );
}
