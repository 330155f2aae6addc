import { useQuery } from '@tanstack/react-query';
import type { AccountRow } from '../../server/api/users/schema.ts';
import { level_names } from '../signed_in/member_words.ts';
import { Section } from '../page/section.tsx';
import { current_session } from '../signed_in/sessions.ts';

/** The organizations of the account, with those that are closed to it. */
export function MembershipSection({ own }: { own: AccountRow }) {
  const { organizations, is_2fa_enabled } = own;
  const { data: session } = useQuery(current_session);
  return (
    <Section title="Organizations">
      {organizations.length === 0 && (
        <p>
          {session?.is_partial === true
            ? 'No organization of yours accepts the provider through which you signed in.'
            : 'You belong to no organization. Open the link of an invite to join one.'}
        </p>
      )}
      <ul className="records">
        {organizations.map(({ id, name, membership_level, enforce_2fa }) => (
          <li key={id}>
            <div>
              <p>
                <bdi>{name}</bdi>
              </p>
              <p className="muted">You are {level_names[membership_level]}.</p>
              {enforce_2fa === true && !is_2fa_enabled && (
                <p className="bad">Closed to you until you set up a second factor, below.</p>
              )}
            </div>
          </li>
        ))}
      </ul>
    </Section>
  );
}
