import type { AccountRow } from '../../server/api/users/schema.ts';
import { TextField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { Section, Seldom, useDone } from '../page/section.tsx';
import { account } from '../signed_in/account.ts';
import { PresentPassword } from './present_password.tsx';
import { pathTo } from '../http/path.ts';

/** The address, whether it is confirmed, and a form to change it. */
export function EmailSection({ own }: { own: AccountRow }) {
  const { email, is_email_verified, pending_email } = own;
  return (
    <Section title="E-mail address">
      <p>
        <bdi>{email}</bdi>{' '}
        {is_email_verified ? (
          <span className="good">confirmed</span>
        ) : (
          <span className="muted">(not confirmed)</span>
        )}
      </p>
      {pending_email !== null && (
        <p>
          It becomes <bdi>{pending_email}</bdi> when you open the link in the mail to that address.
        </p>
      )}
      {(!is_email_verified || pending_email !== null) && (
        <ConfirmForm is_pending={pending_email !== null} />
      )}
      <Seldom summary="Change your e-mail address">
        <ChangeForm own={own} />
      </Seldom>
    </Section>
  );
}

function ConfirmForm({ is_pending }: { is_pending: boolean }) {
  const done = useDone();
  return (
    <Form
      path={pathTo('/api/users/@me/verify_email/')}
      done={() => done('The link is on its way.', account)}
      button={is_pending ? 'Mail the link again' : 'Mail me a link to confirm it'}
      tone="plain"
    />
  );
}

function ChangeForm({ own }: { own: AccountRow }) {
  const done = useDone();
  return (
    <Form
      path={pathTo('/api/users/@me/email/')}
      body={({ email, current_password }) => ({ email, current_password })}
      done={() => done('Saved. The next step is below.', account)}
      button="Change the address"
    >
      <TextField name="email" label="New e-mail address" type="email" autoComplete="email" />
      <PresentPassword own={own} />
    </Form>
  );
}
