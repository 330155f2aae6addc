import { Type } from 'typebox';
import type { Static } from 'typebox';
import { flag, instant, text, titled, uuid } from '../../../platform/http/schemas.ts';
import { lineOfText } from '../../../platform/line_of_text.ts';
import { nullable } from '../../../platform/nullable.ts';
import { User } from '../../users/schema.ts';
import { Domain, DomainPatch, ProviderMetadata } from '../schema.ts';

const record = {
  id: uuid(),
  name: text('The person who gets the link, as named in the activity log.'),
  mask_value: text('The first and last four characters of its token.'),
  created_by: nullable(User),
  created_at: instant(),
  expires_at: instant('The link stops working then.'),
  last_used_at: nullable(instant('Precise to the minute; null: not used yet.')),
};

/** A setup link in lists and records. Its token is not stored. */
export const SetupLink = titled('SetupLink', record);

/** A setup link as SELECT returns it. */
export type SetupLinkRow = Static<typeof SetupLink>;

/** The answer that creates a setup link, the only one that shows it. */
export const NewSetupLink = titled('NewSetupLink', {
  ...record,
  url: Type.Optional(
    text(
      'The link. Only this answer shows it. Its token comes after `#`, so browsers send ' +
        'it to no server. `validate_only` creates none and shows none.',
    ),
  ),
});

/** Body of POST. */
export const SetupLinkCreate = Type.Object({
  name: lineOfText(100, 'The person who gets the link, such as `Robin of Acme IT`.'),
  expires_at: Type.Optional(
    instant('In the future, at most 30 days from now; default 7 days from now.'),
  ),
});

const token = {
  token: Type.String({
    minLength: 1,
    maxLength: 100,
    description: 'The token of the link, after the `#`.',
  }),
};

/** Body of a request from the page behind a link. */
export const GivenLink = Type.Object(token);
/** The same with the metadata of a provider. */
export const GivenMetadata = Type.Object({ ...token, ...ProviderMetadata.properties });

const { saml_entity_id, saml_acs_url, saml_x509_cert } = DomainPatch.properties;

/** The same with the fields of a provider. */
export const GivenProvider = Type.Object({
  ...token,
  saml_entity_id: Type.String({ ...textOf(saml_entity_id), minLength: 1 }),
  saml_acs_url: Type.String({ ...textOf(saml_acs_url), minLength: 1 }),
  saml_x509_cert: Type.String({ ...textOf(saml_x509_cert), minLength: 1 }),
});

/** Returns the rules of an optional text of a domain. */
function textOf(schema: object): { maxLength?: number; description?: string; trim: true } {
  const { maxLength, description } = schema as { maxLength?: number; description?: string };
  return {
    ...(maxLength === undefined ? {} : { maxLength }),
    ...(description === undefined ? {} : { description }),
    trim: true,
  };
}

const of_domain = Domain.properties;

/** The state of the page behind a link: its domain, and the values that the provider needs. */
export const Setup = titled('Setup', {
  name: record.name,
  expires_at: record.expires_at,
  organization_name: Type.String(),
  domain: of_domain.domain,
  is_verified: of_domain.is_verified,
  verification_challenge: of_domain.verification_challenge,
  verification: of_domain.verification,
  saml_entity_id: of_domain.saml_entity_id,
  saml_acs_url: of_domain.saml_acs_url,
  saml_x509_cert: of_domain.saml_x509_cert,
  has_saml: flag('Whether all three fields above are set.'),
  is_waiting: flag("Whether the fields above wait for an owner's confirmation."),
  service_metadata_url: text("The address of this server's metadata."),
  service_entity_id: text('The name of this server in SAML.'),
  service_acs_url: text('The address to which the provider sends its responses.'),
});

/** The state of the page behind a link. */
export type SetupState = Static<typeof Setup>;
