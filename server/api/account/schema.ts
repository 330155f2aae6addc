import { Type } from 'typebox';
import type { TProperties } from 'typebox';
import { text } from '../../platform/http/schemas.ts';
import { lineOfText } from '../../platform/line_of_text.ts';
import { ShownPasskey } from '../passkeys/schema.ts';
import { GivenAddress, GivenToken, NewPassword, SecondFactorCode } from '../users/schema.ts';

const name = (description: string) => Type.Optional(lineOfText(150, description, 0));

/** Body of PATCH and PUT of the caller's account: absent fields keep their values. */
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

const current_password = Type.String({
  minLength: 1,
  maxLength: 1000,
  description:
    'The current password. An account without a password leaves it out, and needs a ' +
    'confirmation from the last ten minutes.',
});

/**
 * Builds bodies that prove a person's identity again: the API describes `any`, and an account with
 * a password must send `with_password`.
 */
function confirmed<Fields extends TProperties>(fields: Fields) {
  return {
    any: Type.Object({ current_password: Type.Optional(current_password), ...fields }),
    with_password: Type.Object({ current_password, ...fields }),
  };
}

/** Body that proves the person's identity again. */
export const Confirmation = confirmed({});

/** The same with a second factor: a code, or a passkey. */
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

/** Body that requests a link to choose a new password. */
export const ResetRequest = Type.Object({ email: GivenAddress });

/** Body that chooses a new password with a link. */
export const PasswordReset = Type.Object({ ...GivenToken.properties, password: NewPassword });

/** The seed of a second factor that is being set up. */
export const TotpSecret = Type.Object({
  secret: Type.Optional(
    text('The seed in base 32, to type in. `validate_only` neither creates nor shows one.'),
  ),
  otpauth_url: Type.Optional(text('The content of a QR code for the app.')),
});

/** Body that finishes setting up a second factor. */
export const TotpCode = Type.Object({
  code: Type.String({ trim: true, pattern: '^[0-9]{6}$', wrong_detail: 'Must be six digits.' }),
});

/** Recovery codes; shown once. */
export const RecoveryCodes = Type.Object({
  recovery_codes: Type.Array(Type.String(), {
    description:
      'Each works once, in place of a code from the app. `validate_only` neither creates nor ' +
      'shows any.',
  }),
});
