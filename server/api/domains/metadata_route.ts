import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { body } from '../../platform/http/bodies/body.ts';
import { invalid } from '../../platform/http/errors.ts';
import { addRoute } from '../../platform/http/records.ts';
import { readProviderMetadata } from '../../platform/saml/provider_metadata.ts';
import { refuseSignOnUrl } from './saml_fields.ts';
import { ProviderFields, ProviderMetadata } from './schema.ts';

/** Route that reads the fields of a provider from its SAML metadata. */
export function metadataRoute(app: FastifyInstance): void {
  addRoute(app, {
    method: 'POST',
    url: '/api/organizations/:organization_id/domains/provider_metadata/',
    config: { scope: 'organization:read', within: 'organization', level: 8 },
    summary: 'Read the fields of an identity provider from its SAML metadata',
    description:
      'Nothing is stored: send the answer in a PATCH of the domain. The text must be XML ' +
      'without a DOCTYPE, comments and entities, and describe one identity provider.',
    body: ProviderMetadata,
    response: { 200: ProviderFields },
    handler: (request) => {
      const { metadata } = body(request, ProviderMetadata);
      return readMetadata(metadata);
    },
  });
}

/** Returns the fields of a domain from the metadata. Throws 400 if it cannot be used. */
export function readMetadata(metadata: string): Static<typeof ProviderFields> {
  const read = readProviderMetadata(metadata);
  if ('detail' in read) throw invalid('metadata', 'invalid_input', read.detail);
  const wrong = refuseSignOnUrl(read.sso_url);
  if (wrong !== undefined)
    throw invalid('metadata', 'invalid_input', `The sign-on URL in it is wrong. ${wrong}`);
  return {
    saml_entity_id: read.entity_id,
    saml_acs_url: read.sso_url,
    saml_x509_cert: read.certificates,
  };
}
