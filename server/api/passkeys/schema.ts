import { Type } from 'typebox';
import type { Static } from 'typebox';
import { nullable } from '../../platform/nullable.ts';
import { lineOfText } from '../../platform/line_of_text.ts';
import { flag, instant, text, titled, uuid, whole } from '../../platform/http/schemas.ts';

const passkey = {
  id: uuid(),
  name: Type.String(),
  aaguid: uuid('The model of the authenticator; zeros when it does not tell.'),
  transports: Type.Array(Type.String(), {
    description: 'Transports of browsers for it, such as `internal`, `hybrid` or `usb`.',
  }),
  is_backup_eligible: flag(
    'Whether it may be copied to other devices, like the passkeys of password managers.',
  ),
  is_backed_up: flag('Whether it was backed up, at its last use.'),
  created_at: instant(),
  last_used_at: nullable(instant('Null before its first use.')),
};

/** A passkey, which signs a person in with or without a password. */
export const Passkey = titled('Passkey', passkey);
/** A passkey as SELECT returns it. */
export type PasskeyRow = Static<typeof Passkey>;

/** A new passkey, with values that are shown only once. */
export const NewPasskey = titled('NewPasskey', {
  ...passkey,
  recovery_codes: Type.Array(Type.String(), {
    description:
      'Ten codes when it is your first second factor, shown this one time; each stands in for ' +
      'a passkey once. Otherwise none: those that you have keep working.',
  }),
});

const name = lineOfText(64, 'Your name for it: 1 to 64 characters, one line.');

/** Bytes as browsers encode them for a server. */
const bytes = (length_max: number, description: string) =>
  Type.String({
    minLength: 1,
    maxLength: length_max,
    pattern: '^[A-Za-z0-9_-]+$',
    wrong_detail: 'Must be base64url without padding, as browsers send it.',
    description,
  });

const credential_id = (description: string) => bytes(1_400, description);

/** Browsers may add fields of later versions of the standard. */
const as_browsers_write = { additionalProperties: true };

/** The fields of every credential of a browser. */
const credential = {
  id: credential_id('The id of the passkey, from the authenticator.'),
  rawId: credential_id('The same as `id`.'),
  type: Type.Enum(['public-key']),
  authenticatorAttachment: Type.Optional(nullable(Type.String({ maxLength: 100 }))),
  clientExtensionResults: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
};
const clientDataJSON = bytes(4_000, "The browser's statement of the request and its origin.");

/** A shown passkey as the browser sends it: a PublicKeyCredential as JSON. */
export const ShownPasskey = Type.Object(
  {
    ...credential,
    response: Type.Object(
      {
        clientDataJSON,
        authenticatorData: bytes(4_000, 'The authenticator data.'),
        signature: bytes(8_000, 'The signature over both.'),
        userHandle: Type.Optional(
          nullable(bytes(100, 'The `user.id` with which the passkey was created.')),
        ),
      },
      as_browsers_write,
    ),
  },
  {
    ...as_browsers_write,
    title: 'ShownPasskey',
    description:
      'The result of `navigator.credentials.get()` for the options of ' +
      '`/api/sessions/passkey/begin/`, in the form of its `toJSON()`. It works once.',
  },
);
/** A passkey that signs in or confirms. */
export type GivenPasskey = Static<typeof ShownPasskey>;

/** Body that finishes the creation of a passkey. */
export const PasskeyCreate = Type.Object({
  name,
  passkey: Type.Object(
    {
      ...credential,
      response: Type.Object(
        {
          clientDataJSON,
          attestationObject: bytes(20_000, 'The new key, and the authenticator data.'),
          transports: Type.Optional(Type.Array(Type.String({ maxLength: 50 }), { maxItems: 20 })),
          publicKeyAlgorithm: Type.Optional(Type.Integer()),
          publicKey: Type.Optional(nullable(Type.String({ maxLength: 10_000 }))),
          authenticatorData: Type.Optional(nullable(Type.String({ maxLength: 20_000 }))),
        },
        as_browsers_write,
      ),
    },
    {
      ...as_browsers_write,
      description:
        'The result of `navigator.credentials.create()` for the options of `begin/`, in the ' +
        'form of its `toJSON()`.',
    },
  ),
});
/** A passkey during its creation. */
export type CreatedPasskey = Static<typeof PasskeyCreate>['passkey'];

/** Body of PATCH of a passkey. */
export const PasskeyPatch = Type.Object({ name: Type.Optional(name) });

/** Body of PUT of a passkey. */
export const PasskeyPut = Type.Object({ name });

/** Body of a sign-in by passkey alone. */
export const PasskeySignIn = Type.Object({ passkey: ShownPasskey });

const challenge = text('Valid once, for 5 minutes, in this browser.');
const timeout = whole('Milliseconds that the browser waits.');
const must = Type.Enum(['required']);

/** Options for the browser to show a passkey. */
export const ShowOptions = Type.Object(
  { challenge, rpId: Type.String(), timeout, userVerification: must },
  {
    title: 'ShowOptions',
    description: '`publicKey` of `navigator.credentials.get()`, as JSON.',
  },
);

/** Options for the browser to create a passkey. */
export const CreateOptions = Type.Object(
  {
    challenge: Type.Optional(
      text('Good for 5 minutes, in this browser, once; `validate_only` gives none.'),
    ),
    rp: Type.Object({ id: Type.String(), name: Type.String() }),
    user: Type.Object({ id: Type.String(), name: Type.String(), displayName: Type.String() }),
    pubKeyCredParams: Type.Array(
      Type.Object({ type: Type.Enum(['public-key']), alg: Type.Integer() }),
    ),
    timeout,
    excludeCredentials: Type.Array(
      Type.Object({
        id: Type.String(),
        type: Type.Enum(['public-key']),
        transports: Type.Array(Type.String()),
      }),
      { description: 'Your existing passkeys: an authenticator creates no second one.' },
    ),
    authenticatorSelection: Type.Object({
      residentKey: must,
      requireResidentKey: Type.Boolean(),
      userVerification: must,
    }),
    attestation: Type.Enum(['none']),
  },
  {
    title: 'CreateOptions',
    description: '`publicKey` of `navigator.credentials.create()`, as JSON.',
  },
);
