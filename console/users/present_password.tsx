import type { AccountRow } from '../../server/api/users/schema.ts';
import { PasswordField } from '../form/fields.tsx';

/**
 * The current password, if the account has one, for actions that need more than a session. It tells
 * password managers the account.
 */
export function PresentPassword({ own: { email, has_password } }: { own: AccountRow }) {
  if (!has_password) return undefined;
  return (
    <>
      <input type="email" autoComplete="username" value={email} readOnly hidden />
      <PasswordField name="current_password" label="Your current password" />
    </>
  );
}
