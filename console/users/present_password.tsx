import type { AccountRow } from '../../server/api/users/schema.ts';
import { PasswordField } from '../form/fields.tsx';

/**
 * The present password, where the account has one, for what takes more than being signed in; tells
 * password managers whose it is.
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
