import { Type } from 'typebox';
import type { Static } from 'typebox';
import { nullable } from '../../platform/nullable.ts';
import { flag, instant, text, titled, uuid, whole } from '../../platform/http/schemas.ts';

const person = {
  id: Type.Integer(),
  uuid: uuid('The id in paths.'),
  distinct_id: text('Name of the person in events about the use of this server.'),
  first_name: Type.String(),
  last_name: Type.String(),
  email: Type.String({ format: 'email' }),
  is_email_verified: flag('Whether a link sent to the address was opened in this account.'),
  mascot_config: Type.Record(Type.String(), Type.Unknown(), {
    description: 'How the person wants the mascot to look; any keys.',
  }),
};

/** A person in members, invites and other records. */
export const User = titled('User', person);

const Membership = Type.Object({
  id: uuid(),
  name: Type.String(),
  membership_level: Type.Enum([1, 8, 15], { description: '1 member, 8 administrator, 15 owner.' }),
  enforce_2fa: nullable(
    flag('True while the organization is closed to the person because they have no second factor.'),
  ),
});

/** The caller's own account. */
export const Account = titled('Account', {
  ...person,
  pending_email: nullable(
    Type.String({
      format: 'email',
      description:
        'New address, which replaces `email` once the link sent to it is opened; null without ' +
        'one.',
    }),
  ),
  has_password: flag('Whether the account can sign in with a password.'),
  is_2fa_enabled: flag('Whether a second factor is set up: codes of an app, or a passkey.'),
  is_totp_enabled: flag('Whether codes of an app are set up.'),
  passkey_count: whole('How many passkeys the account has.'),
  recovery_codes_left: whole('Recovery codes that are not used yet.'),
  has_social_auth: flag('Whether the person has signed in through another provider.'),
  organizations: Type.Array(Membership, {
    description:
      'Organizations that the key or session reaches, in the order in which the person ' +
      'joined them.',
  }),
  created_at: instant(),
  updated_at: instant('When the account was last changed.'),
});
/** The caller's own account as SELECT returns it. */
export type AccountRow = Static<typeof Account>;

/**
 * The address of an existing account, in any spelling. An operator may have created an account
 * whose address other rules would refuse.
 */
export const GivenAddress = Type.String({
  trim: true,
  minLength: 1,
  maxLength: 254,
  description: 'E-mail address of the account, in any case.',
});

/** A new password. In addition to the length, `newPasswordFault` of the platform checks it. */
export const NewPassword = Type.String({
  minLength: 12,
  maxLength: 200,
  description: '12 to 200 characters of any kind; none that everybody would guess.',
});

/** An existing password, with the greatest length that was ever allowed. */
export const GivenPassword = Type.String({ minLength: 1, maxLength: 1000 });

/** A code of the second factor: six digits of the app, or a recovery code. */
export const SecondFactorCode = Type.String({
  trim: true,
  minLength: 1,
  maxLength: 40,
  description: 'Six digits of the app, or a recovery code.',
});

/** An answer with the address of a link or its account. */
export const LinkedEmail = titled('LinkedEmail', { email: Type.String() });

/** Body with the token of a link. */
export const GivenToken = Type.Object({
  token: Type.String({
    minLength: 1,
    maxLength: 200,
    description: 'The last part of the address of a link.',
  }),
});
