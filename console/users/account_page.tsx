import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { AssistantSection, KeySection } from '../api_keys/key_section.tsx';
import { pathOf } from '../http/reading.ts';
import { Page } from '../page/page.tsx';
import { Shown } from '../page/shown.tsx';
import { PasskeySection } from './passkey_section.tsx';
import { OwnSecuritySection } from '../security_events/own_section.tsx';
import { SessionSection } from '../sessions/session_section.tsx';
import { account } from '../signed_in/account.ts';
import { EmailSection } from './email_section.tsx';
import { MembershipSection } from './membership_section.tsx';
import { PasswordSection } from './password_section.tsx';
import { ProfileSection } from './profile_section.tsx';
import { SecondFactorSection } from './second_factor_section.tsx';

/** Shows a person's own account. */
export function AccountPage() {
  const query = useQuery(account);
  return (
    <Page title="Your account" request={pathOf(account)}>
      <Shown query={query}>
        {(own) => (
          <>
            <p>
              You are signed in as <bdi>{own.email}</bdi>.{' '}
              <Link to="/account/activity">Your activity</Link> lists what was changed here.
            </p>
            <MembershipSection own={own} />
            <ProfileSection own={own} />
            <EmailSection own={own} />
            <PasswordSection own={own} />
            <SecondFactorSection own={own} />
            <PasskeySection own={own} />
            <SessionSection />
            <OwnSecuritySection />
            <AssistantSection />
            <KeySection />
          </>
        )}
      </Shown>
    </Page>
  );
}
