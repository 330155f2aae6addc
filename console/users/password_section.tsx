import type { AccountRow } from '../../server/api/users/schema.ts';
import { PasswordField } from '../form/fields.tsx';
import { Form } from '../form/form.tsx';
import { Section, Seldom, useDone } from '../page/section.tsx';
import { sessions } from '../signed_in/sessions.ts';
import { account } from '../signed_in/account.ts';
import { PresentPassword } from './present_password.tsx';
import { pathTo } from '../http/path.ts';

/** The password and its change. */
export function PasswordSection({ own }: { own: AccountRow }) {
  return (
    <Section title="Password">
      <p>
        {own.has_password
          ? 'You can sign in with your address and a password.'
          : 'You have no password. You sign in another way.'}
      </p>
      <Seldom summary={own.has_password ? 'Change your password' : 'Choose a password'}>
        <p>This ends all your other sessions.</p>
        <ChangeForm own={own} />
      </Seldom>
    </Section>
  );
}

function ChangeForm({ own }: { own: AccountRow }) {
  const done = useDone();
  return (
    <Form
      path={pathTo('/api/users/@me/password/')}
      body={({ current_password, new_password }) => ({ current_password, new_password })}
      done={() =>
        done('Your password was changed, and your other sessions were ended.', account, sessions)
      }
      button="Save the password"
      clears
    >
      <PresentPassword own={own} />
      <PasswordField name="new_password" label="New password" is_new />
    </Form>
  );
}
