import { useQuery } from '@tanstack/react-query';
import type { MemberRow } from '../../server/api/members/schema.ts';
import type { SessionRow } from '../../server/api/sessions/schema.ts';
import { Form } from '../form/form.tsx';
import { reading } from '../http/reading.ts';
import { Empty } from '../page/empty.tsx';
import { useDone } from '../page/section.tsx';
import { Shown } from '../page/shown.tsx';
import { browserOf } from '../sessions/browser_name.ts';
import { SessionWords } from '../sessions/session_section.tsx';
import { exactly } from '../time/words.ts';
import { pathTo } from '../http/path.ts';

type Given = { member: MemberRow; organization_id: string };

const idsOf = ({ member, organization_id }: Given) => ({
  organization_id,
  user__uuid: member.user.uuid,
});
const pathOf = (given: Given) =>
  pathTo('/api/organizations/:organization_id/members/:user__uuid/sessions/', idsOf(given));
const sessionsOf = (given: Given) => reading(pathOf(given));
const everywhere =
  'Sluice signs them out of that browser everywhere on this server and mails them.';

/** The browsers in which a member is signed in, with buttons that end sessions; for owners. */
export function MemberSessions(given: Given) {
  const query = useQuery(sessionsOf(given));
  return (
    <>
      <h4>Sessions</h4>
      <Shown query={query}>
        {({ count, results }) =>
          count === 0 ? (
            <Empty title="They are signed in nowhere">
              Each browser in which they sign in gets a line here. You can end its session.
            </Empty>
          ) : (
            <>
              <ul className="records">
                {results.map((session) => (
                  <li key={session.id}>
                    <SessionWords session={session} />
                    <EndOne {...given} session={session} />
                  </li>
                ))}
              </ul>
              {count > 1 && <EndAll {...given} count={count} />}
            </>
          )
        }
      </Shown>
    </>
  );
}

function EndOne({ session, ...given }: Given & { session: SessionRow }) {
  const done = useDone();
  const { id, ip, user_agent, created_at } = session;
  return (
    <Form
      method="DELETE"
      path={pathTo('/api/organizations/:organization_id/members/:user__uuid/sessions/:id/', {
        ...idsOf(given),
        id,
      })}
      done={() => done('The session was ended.', sessionsOf(given))}
      button="End"
      about={`the session from ${ip}, opened ${exactly(created_at, 'UTC')}`}
      tone="danger"
      asks={() => ({
        title: `End the session in ${browserOf(user_agent)}?`,
        text: everywhere,
        button: 'End the session',
        keep: 'Keep it',
      })}
    />
  );
}

function EndAll({ count, ...given }: Given & { count: number }) {
  const done = useDone();
  return (
    <Form
      method="DELETE"
      path={pathOf(given)}
      done={() => done('All their sessions were ended.', sessionsOf(given))}
      button="End all sessions"
      tone="danger"
      asks={() => ({
        title: `End all ${count} sessions?`,
        text: 'Sluice signs them out everywhere on this server and mails them.',
        button: 'End all sessions',
        keep: 'Keep them',
      })}
    />
  );
}
