import { Type } from 'typebox';
import type { Static } from 'typebox';
import { instant, uuid } from '../../platform/http/schemas.ts';
import { GivenAddress, GivenPassword, SecondFactorCode, User } from '../users/schema.ts';

const session = {
  id: uuid(),
  method: Type.String({
    description:
      'How the person signed in: `password`, `saml`, the name of an OpenID provider, or ' +
      '`link`: one that the operator created.',
  }),
  ip: Type.String({ description: 'The address that the sign-in came from.' }),
  user_agent: Type.String({
    description: 'What the browser called itself at the sign-in; at most 400 characters.',
  }),
  created_at: instant(),
  last_used_at: instant(
    'Moves at most once a minute. A session that is not used for 7 days has ended.',
  ),
  expires_at: instant('When the session ends, however much it is used.'),
  is_current: Type.Boolean({ description: 'Whether this request was made in it.' }),
};

/** A browser that is signed in. */
export const Session = Type.Object(session, { title: 'Session' });
/** A session row as SELECT gives it. */
export type SessionRow = Static<typeof Session>;

/** The answer to a sign-in. */
export const SignedIn = Type.Object({ ...session, user: User }, { title: 'SignedIn' });

/** Body of a sign-in. */
export const SignIn = Type.Object({
  email: GivenAddress,
  password: GivenPassword,
  code: Type.Optional(SecondFactorCode),
});
