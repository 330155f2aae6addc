import { Type } from 'typebox';
import type { Static } from 'typebox';
import { flag, instant, text, titled, uuid } from '../../../platform/http/schemas.ts';
import { nullable } from '../../../platform/nullable.ts';

const Connection = Type.Object(
  {
    account: nullable(text('The account, as the vendor names it; null: it does not say.')),
    scopes: nullable(text('The scopes that the vendor granted.')),
    expires_at: nullable(
      instant('When the access token expires; Sluice refreshes it before. Null: unknown.'),
    ),
    connected_by: nullable(text('Email address of the person who connected it.')),
    connected_at: instant(),
    refused: nullable(
      Type.Object(
        { reason: Type.String(), at: instant() },
        { description: 'Why it has to be connected again; null while it works.' },
      ),
    ),
  },
  { description: 'The tokens of the config; they are shown nowhere.' },
);

/** The OAuth of a tool in a project. */
export const PluginOauth = titled('PluginOauth', {
  tool: text('The tool: its folder in the package of tools.'),
  way: Type.Enum(['people', 'settings'], {
    description:
      '`people`: a person connects the tool at the vendor. `settings`: the tool gets its ' +
      'tokens with credentials in its settings, so there is nothing to connect.',
  }),
  redirect_uri: text('The redirect address for the application.'),
  register_at: nullable(text('Where the vendor registers applications; null: unknown.')),
  proposal: Type.Object(
    {
      authorize_url: nullable(Type.String()),
      token_url: nullable(Type.String()),
      revoke_url: nullable(Type.String()),
      scopes: Type.String(),
    },
    { description: 'The values that the vendor documents; enter the ones that are null.' },
  ),
  application: nullable(
    Type.Object(
      { id: uuid(), client_id: Type.String() },
      { description: "The organization's application; null: none is registered." },
    ),
  ),
  connection: nullable(Connection),
});
export type PluginOauth = Static<typeof PluginOauth>;

/** The answer of `oauth/connect/`. */
export const OauthConnect = titled('PluginOauthConnect', {
  authorize_url: text('Open this address in the browser of this session.'),
});

/** The answer of `oauth/disconnect/`. */
export const OauthDisconnect = titled('PluginOauthDisconnect', {
  is_revoked: flag('Whether the vendor has revoked the tokens.'),
  detail: nullable(text('Why the vendor has not.')),
});
