import { Type } from 'typebox';
import type { Static } from 'typebox';
import { nullable } from '../../platform/nullable.ts';
import { flag, instant, text, titled, uuid } from '../../platform/http/schemas.ts';
import { ShownPasskey } from '../passkeys/schema.ts';
import { GivenAddress, GivenPassword, SecondFactorCode, User } from '../users/schema.ts';

const session = {
  id: uuid(),
  method: text(
    'How the person signed in: `password`, `passkey`, `saml`, the name of an OpenID ' +
      'provider, or `link` (from the operator).',
  ),
  ip: text("The client's address at the sign-in."),
  user_agent: text('User agent of the browser at sign-in; at most 400 characters.'),
  created_at: instant(),
  last_used_at: instant('Updated at most once a minute. A session ends after 7 days without use.'),
  expires_at: instant('When the session ends, even if it is used.'),
  own_factor_at: nullable(
    instant(
      'Time of the last confirmation with password and second factor, or with a passkey. ' +
        'Null if only a provider signed the person in. The session then reaches the ' +
        'organizations that accept the provider.',
    ),
  ),
  awaits_factor: flag(
    'Whether the provider is new to an account with a second factor: the session has no ' +
      'access until it is confirmed.',
  ),
  is_partial: flag(
    'Whether this is the current session and it reaches only a part of the account: ' +
      '`@current/confirm/` opens the rest.',
  ),
  is_current: flag('Whether this is the current session.'),
};

/** A signed-in browser. */
export const Session = titled('Session', session);
/** A session row as SELECT returns it. */
export type SessionRow = Static<typeof Session>;

/** The answer to a sign-in. */
export const SignedIn = titled('SignedIn', { ...session, user: User });

/** Body of a confirmation: password and code if the account has them, or a passkey alone. */
export const SessionConfirm = Type.Object(
  {
    password: Type.Optional(GivenPassword),
    code: Type.Optional(SecondFactorCode),
    passkey: Type.Optional(ShownPasskey),
  },
  { refuses_empty: true },
);

/** Body of a sign-in. */
export const SignIn = Type.Object({
  email: GivenAddress,
  password: GivenPassword,
  code: Type.Optional(SecondFactorCode),
  passkey: Type.Optional(ShownPasskey),
});
