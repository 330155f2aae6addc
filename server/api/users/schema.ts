import { Type } from 'typebox';
import type { Static, TProperties } from 'typebox';
import { nullable } from '../../platform/nullable.ts';
import { lineOfText } from '../../platform/line_of_text.ts';
import { instant, uuid } from '../../platform/http/schemas.ts';
import { ShownPasskey } from '../passkeys/schema.ts';

const person = {
  id: Type.Integer(),
  uuid: uuid('The id in paths.'),
  distinct_id: Type.String({
    description: 'Name of the person in events about the use of this server.',
  }),
  first_name: Type.String(),
  last_name: Type.String(),
  email: Type.String({ format: 'email' }),
  is_email_verified: Type.Boolean({
    description: 'Whether a link sent to the address was opened in this account.',
  }),
  mascot_config: Type.Record(Type.String(), Type.Unknown(), {
    description: 'How the person wants the mascot to look; any keys.',
  }),
};

/** A person as members, invites and other records show them. */
export const User = Type.Object(person, { title: 'User' });

const Membership = Type.Object({
  id: uuid(),
  name: Type.String(),
  membership_level: Type.Enum([1, 8, 15], { description: '1 member, 8 administrator, 15 owner.' }),
  enforce_2fa: nullable(
    Type.Boolean({
      description:
        'When true, the organization is closed to the person until they have a second factor.',
    }),
  ),
});

/** The caller's own account. */
export const Account = Type.Object(
  {
    ...person,
    pending_email: nullable(
      Type.String({
        format: 'email',
        description:
          'The address that `email` becomes when the link sent to it is opened; null when ' +
          'none is waiting.',
      }),
    ),
    has_password: Type.Boolean({ description: 'Whether the account can sign in with a password.' }),
    is_2fa_enabled: Type.Boolean({
      description: 'Whether a second factor is set up: codes of an app, or a passkey.',
    }),
    is_totp_enabled: Type.Boolean({ description: 'Whether codes of an app are set up.' }),
    passkey_count: Type.Integer({ description: 'How many passkeys the account has.' }),
    recovery_codes_left: Type.Integer({ description: 'Recovery codes that are not used yet.' }),
    has_social_auth: Type.Boolean({
      description: 'Whether the person has signed in through another provider.',
    }),
    organizations: Type.Array(Membership, {
      description:
        'Those that the key or session reaches, in the order in which the person joined them.',
    }),
    created_at: instant(),
    updated_at: instant('When the account was last changed.'),
  },
  { title: 'Account' },
);
/** The caller's own account as SELECT gives it. */
export type AccountRow = Static<typeof Account>;

const name = (description: string) => Type.Optional(lineOfText({ maxLength: 150, description }));

/** Body of PATCH and PUT of the caller's account: what is left out keeps its value. */
export const AccountPatch = Type.Object({
  first_name: name('At most 150 characters; may be blank.'),
  last_name: name('At most 150 characters; may be blank.'),
  mascot_config: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      maxProperties: 100,
      description: 'Any keys; at most 10,000 characters of JSON.',
    }),
  ),
});

/**
 * The address of an account that is being named, in any spelling; an operator may have created one
 * whose form no other rule would take.
 */
export const GivenAddress = Type.String({
  trim: true,
  minLength: 1,
  maxLength: 254,
  description: 'E-mail address of the account, in any case.',
});

/**
 * A password that is being chosen. Beside its length, `newPasswordFault` of the platform says
 * whether it will do.
 */
export const NewPassword = Type.String({
  minLength: 12,
  maxLength: 200,
  description: '12 to 200 characters of any kind; none that everybody would guess.',
});

/** A password that is being shown; as long as it may ever have been. */
export const GivenPassword = Type.String({ minLength: 1, maxLength: 1000 });

const current_password = Type.String({
  minLength: 1,
  maxLength: 1000,
  description:
    'The present password. Left out by an account without one, whose person must then have ' +
    'shown what is their own within the last ten minutes.',
});

/** A code of the second factor: six digits of the app, or a recovery code. */
export const SecondFactorCode = Type.String({
  trim: true,
  minLength: 1,
  maxLength: 40,
  description: 'Six digits of the app, or a recovery code.',
});

/**
 * Bodies by which a person proves anew that it is them: `any` is what the API describes,
 * `with_password` what an account with a password has to send.
 */
function confirmed<Fields extends TProperties>(fields: Fields) {
  return {
    any: Type.Object({ current_password: Type.Optional(current_password), ...fields }),
    with_password: Type.Object({ current_password, ...fields }),
  };
}

/** Body of what the person has to prove anew that it is them for. */
export const Confirmation = confirmed({});
/** As `Confirmation`, with a second factor: a code, or a passkey. */
export const ConfirmationWithFactor = confirmed({
  code: Type.Optional(SecondFactorCode),
  passkey: Type.Optional(ShownPasskey),
});
/** Body of the change of the password. */
export const PasswordChange = confirmed({ new_password: NewPassword });
/** Body of the change of the e-mail address. */
export const EmailChange = confirmed({
  email: Type.String({
    trim: true,
    format: 'email',
    maxLength: 254,
    description: 'White space around it is removed; the domain is stored in lower case.',
  }),
});
/** Body that asks for a link to choose a new password. */
export const ResetRequest = Type.Object({ email: GivenAddress });
/** An answer that names the address which a link went to or belongs to. */
export const LinkedEmail = Type.Object({ email: Type.String() }, { title: 'LinkedEmail' });

const token = Type.String({
  minLength: 1,
  maxLength: 200,
  description: 'The last part of the address of a link.',
});
/** Body of what a link opens. */
export const GivenToken = Type.Object({ token });
/** Body of the choice of a new password by a link. */
export const PasswordReset = Type.Object({ token, password: NewPassword });

/** The seed of a second factor that is being set up. */
export const TotpSecret = Type.Object({
  secret: Type.Optional(
    Type.String({
      description:
        'The seed in base 32, for typing it in; `validate_only` creates none and shows none.',
    }),
  ),
  otpauth_url: Type.Optional(Type.String({ description: 'What a QR code for the app holds.' })),
});
/** Body that finishes setting up a second factor. */
export const TotpCode = Type.Object({
  code: Type.String({ trim: true, pattern: '^[0-9]{6}$', wrong_detail: 'Must be six digits.' }),
});
/** Recovery codes; shown once. */
export const RecoveryCodes = Type.Object({
  recovery_codes: Type.Array(Type.String(), {
    description:
      'Each signs in once in place of a code of the app; `validate_only` creates none and shows ' +
      'none.',
  }),
});
