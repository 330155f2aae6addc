import { Type } from 'typebox';
import type { Static } from 'typebox';
import { flag, instant, text, titled, uuid, whole } from '../../platform/http/schemas.ts';
import { lineOfText } from '../../platform/line_of_text.ts';
import { nullable } from '../../platform/nullable.ts';

const address = (description: string) =>
  Type.String({ trim: true, minLength: 1, maxLength: 2_000, description });

const fields = {
  client_id: lineOfText(500, 'The client id from the vendor.'),
  authorize_url: address(
    'Where people are sent to authorize it: https, without user, password or fragment. A query ' +
      'stays. The tool `webhook-extensible` needs one; for others there is a default.',
  ),
  token_url: address('Address that exchanges codes and refresh tokens.'),
  revoke_url: nullable(address('Where tokens are revoked (RFC 7009); null: nowhere.')),
  scopes: lineOfText(
    2_000,
    "The scopes to request, in the vendor's format. Empty: no scope is sent.",
    0,
  ),
  client_auth: Type.Enum(['post', 'basic'], {
    description:
      'How the client secret is sent: `post` in the body (default), or `basic` in the ' +
      '`Authorization` header.',
  }),
  uses_pkce: flag('Whether PKCE (S256) is used; default true.'),
};

/** The registration of an organization at a tool's vendor, in answers. */
export const OauthApplication = titled('OauthApplication', {
  id: uuid(),
  tool: text('The tool: its folder in the package of tools.'),
  redirect_uri: text('The redirect address to register at the vendor, exactly as given.'),
  ...fields,
  client_id: text('The client id from the vendor.'),
  scopes: text('The requested scopes.'),
  connections: whole('Number of configs connected with it.'),
  created_at: instant(),
  updated_at: instant(),
});
/** The row of an application; the server adds its redirect address. */
export type OauthApplicationRow = Omit<Static<typeof OauthApplication>, 'redirect_uri'>;

const client_secret = lineOfText(
  2_000,
  'The secret of the application. It is encrypted at rest and never returned.',
);
const changeable = {
  authorize_url: Type.Optional(fields.authorize_url),
  token_url: Type.Optional(fields.token_url),
  revoke_url: Type.Optional(fields.revoke_url),
  scopes: Type.Optional(fields.scopes),
  client_auth: Type.Optional(fields.client_auth),
  uses_pkce: Type.Optional(fields.uses_pkce),
};

/** Body of POST. */
export const OauthApplicationCreate = Type.Object({
  tool: lineOfText(100, 'The tool: the last part of its address in the catalogue.'),
  client_id: fields.client_id,
  client_secret,
  ...changeable,
});

/** Body of PUT: the id is required; absent fields keep their values, and the tool cannot change. */
export const OauthApplicationReplacement = Type.Object({
  client_id: fields.client_id,
  client_secret: Type.Optional(client_secret),
  ...changeable,
});

/** Body of PATCH; the tool cannot change. */
export const OauthApplicationPatch = Type.Object({
  client_id: Type.Optional(fields.client_id),
  client_secret: Type.Optional(client_secret),
  ...changeable,
});
