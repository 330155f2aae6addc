import { Link, getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { PasswordField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { Panel } from '../page/panel.tsx';
import { PlainPage } from '../page/page.tsx';
import { useTakenToken } from '../sessions/taken_token.ts';
import { pathTo } from '../http/path.ts';

const reset_route = getRouteApi('/reset-password/{-$token}');
const verify_route = getRouteApi('/verify-email/{-$token}');

/**
 * The pages behind mailed links. Opening one does nothing, because virus scanners open links too;
 * its button does. Without the token they say where to find it.
 */
export function ResetPasswordPage() {
  const navigate = reset_route.useNavigate();
  const token = useTakenToken(reset_route.useParams().token, () =>
    navigate({ params: { token: undefined }, replace: true }),
  );
  const [email, setEmail] = useState<string>();
  return (
    <LinkPage
      title="Choose a new password"
      is_open={token !== undefined}
      renewal={
        <p className="after_form">
          Does the link no longer work? <Link to="/forgot-password">Ask for a new one.</Link>
        </p>
      }
    >
      {email === undefined ? (
        <>
          <p>
            This signs you out everywhere. A second factor stays, unless it was set up before your
            address was confirmed.
          </p>
          <Form
            path={pathTo('/api/users/reset_password/confirm/')}
            body={({ password }) => ({ password, token: token ?? '' })}
            done={(answer) => setEmail(answer.email)}
            button="Save the password"
          >
            <PasswordField name="password" label="New password" is_new />
          </Form>
        </>
      ) : (
        <Panel>
          <p>
            The password of <bdi>{email}</bdi> was changed.
          </p>
          <p>
            <Link to="/login">Sign in</Link>
          </p>
        </Panel>
      )}
    </LinkPage>
  );
}

/** Confirms an address with the mailed link; see `ResetPasswordPage`. */
export function VerifyEmailPage() {
  const navigate = verify_route.useNavigate();
  const token = useTakenToken(verify_route.useParams().token, () =>
    navigate({ params: { token: undefined }, replace: true }),
  );
  const [email, setEmail] = useState<string>();
  return (
    <LinkPage
      title="Confirm your e-mail address"
      is_open={token !== undefined}
      renewal={
        <p className="after_form">
          Does the link no longer work? Have a new one sent from{' '}
          <Link to="/account">your account</Link>.
        </p>
      }
    >
      {email === undefined ? (
        <Form
          path={pathTo('/api/users/verify_email/')}
          body={() => ({ token: token ?? '' })}
          done={(answer) => setEmail(answer.email)}
          button="Confirm the address"
        />
      ) : (
        <Panel>
          <p>
            Thank you: <bdi>{email}</bdi> is confirmed.
          </p>
          <p>
            <Link to="/account">To your account</Link>
          </p>
        </Panel>
      )}
    </LinkPage>
  );
}

function LinkPage({
  title,
  is_open,
  renewal,
  children,
}: {
  title: string;
  is_open: boolean;
  renewal: ReactNode;
  children: ReactNode;
}) {
  return (
    <PlainPage title={title}>
      {is_open ? (
        children
      ) : (
        <p>Open the link of the mail again. It works once, until it expires.</p>
      )}
      {renewal}
    </PlainPage>
  );
}
