/** True if the user `u` has a second factor: a confirmed authenticator app, or a passkey. */
export const user_has_second_factor =
  '(u.totp_confirmed_at IS NOT NULL OR EXISTS (SELECT 1 FROM passkeys own_passkey WHERE ' +
  'own_passkey.user_id = u.id))';
