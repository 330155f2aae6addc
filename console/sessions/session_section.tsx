import { useQuery } from '@tanstack/react-query';
import type { SessionRow } from '../../server/api/sessions/schema.ts';
import { Form } from '../form/form.tsx';
import { Section, useDone } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
import { Instant } from '../time/instant.tsx';
import { exactly } from '../time/words.ts';
import { browserOf } from './browser_name.ts';
import { sessions } from '../signed_in/sessions.ts';
import { pathTo } from '../http/path.ts';

/** The browsers in which the person is signed in, each with a button that ends the session. */
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
            {count > 1 && <EndOthers others={count - 1} />}
          </>
        )}
      </Shown>
    </Section>
  );
}

function Session({ session }: { session: SessionRow }) {
  const { id, ip, user_agent, created_at, is_current } = session;
  const done = useDone();
  const browser = browserOf(user_agent);
  return (
    <li>
      <SessionWords session={session} />
      {is_current ? (
        <span className="good">this browser</span>
      ) : (
        <Form
          method="DELETE"
          path={pathTo('/api/sessions/:id/', { id })}
          done={() => done('The session was ended.', sessions)}
          button="End"
          about={`the session from ${ip}, opened ${exactly(created_at, 'UTC')}`}
          tone="danger"
          asks={() => ({
            title: `End the session in ${browser}?`,
            text: `It was opened from ${ip}. That browser has to sign in again.`,
            button: 'End the session',
            keep: 'Keep it',
          })}
        />
      )}
    </li>
  );
}

/** Describes a session: its browser, address and time. */
export function SessionWords({ session }: { session: SessionRow }) {
  const { method, ip, user_agent, created_at, last_used_at } = session;
  return (
    <div>
      <p title={user_agent}>{browserOf(user_agent)}</p>
      <p className="muted">
        From {ip} by {method}, opened <Instant at={created_at} />, last used{' '}
        <Instant at={last_used_at} />
      </p>
    </div>
  );
}

function EndOthers({ others }: { others: number }) {
  const done = useDone();
  const what = others === 1 ? 'the other session' : `the ${others} other sessions`;
  return (
    <Form
      method="DELETE"
      path={pathTo('/api/sessions/')}
      done={() => done('All your other sessions were ended.', sessions)}
      button="End all others"
      tone="danger"
      asks={() => ({
        title: `End ${what}?`,
        text: 'Those browsers have to sign in again. This browser stays signed in.',
        button: `End ${what}`,
        keep: others === 1 ? 'Keep it' : 'Keep them',
      })}
    />
  );
}
