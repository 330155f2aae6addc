import type { FastifyInstance } from 'fastify';
import sql from 'sql-template-tag';
import { Type } from 'typebox';
import type { Deps } from '../../deps.ts';
import { NoFields, body } from '../../platform/http/bodies/body.ts';
import { uuidParameter } from '../../platform/http/caller/access.ts';
import { invalid, missing, notFound } from '../../platform/http/errors.ts';
import { text } from '../../platform/http/schemas.ts';
import { isUuid } from '../../platform/uuid.ts';
import { query } from '../../platform/http/lists/query.ts';
import { Problem } from '../../platform/http/responses.ts';
import { addRoute, addWrite } from '../../platform/http/records.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { serviceMetadata } from '../../platform/saml/metadata.ts';
import { GivenLink } from '../domains/setup_links/schema.ts';
import { openLink } from '../domains/setup_links/store.ts';
import { findDomain, findVerifiedDomain, withPending } from '../domains/store.ts';
import { limitAddress } from './limit.ts';
import { findSamlParties, samlService } from './saml/provider.ts';
import { findProviders } from './find_providers.ts';
import { Providers, TestSignIn } from './schema.ts';
import { createTestUrl } from './test_sign_in.ts';

const metadata_type = 'application/samlmetadata+xml';
const Named = Type.Object({
  organization: text('UUID of the organization.'),
});

/**
 * API routes of single sign-on: the available providers, this server's SAML metadata for an
 * organization, and tests of a domain's provider.
 */
export function singleSignOnApiRoutes(app: FastifyInstance, deps: Deps): void {
  providersRoute(app, deps);
  metadataRoute(app, deps);
  testRoute(app, deps);
  setupTestRoute(app, deps);
}

const Asked = Type.Object({
  email: Type.Optional(
    Type.String({ maxLength: 254, description: 'The address of the person who signs in.' }),
  ),
});

function providersRoute(app: FastifyInstance, deps: Deps): void {
  addRoute(app, {
    url: '/api/single_sign_on/',
    config: { scope: 'public' },
    summary: 'List the providers for signing in',
    description:
      'Without `email`: the configured OpenID providers of this server. With it: the ' +
      'providers that the domain of the address allows.',
    operationId: 'single_sign_on_list',
    tags: ['single_sign_on'],
    querystring: Asked,
    response: { 200: Providers, 400: Problem, 429: Problem },
    handler: (request) => {
      limitAddress(request, 'sign-in providers');
      return findProviders(deps, query(request, Asked).email);
    },
  });
}

function metadataRoute(app: FastifyInstance, deps: Deps): void {
  addRoute(app, {
    url: '/api/saml/metadata/',
    config: { scope: 'public', accepts_anything: true },
    summary:
      "Retrieve this server's SAML metadata for an organization, to import into its " +
      'identity provider',
    operationId: 'saml_metadata_retrieve',
    tags: ['single_sign_on'],
    querystring: Named,
    response: {
      200: {
        description: 'The metadata.',
        content: { [metadata_type]: { schema: Type.String() } },
      },
      400: Problem,
      404: Problem,
    },
    handler: async (request, reply) => {
      const { organization } = query(request, Named);
      const known = isUuid(organization)
        ? await deps.db.row<{ id: string }>(
            sql`SELECT id FROM organizations WHERE id = ${organization}::uuid`,
          )
        : undefined;
      if (known === undefined) throw notFound();
      return reply
        .type(metadata_type)
        .send(Buffer.from(serviceMetadata(samlService(deps.config, known.id))));
    },
  });
}

function testRoute(app: FastifyInstance, deps: Deps): void {
  addWrite(app, {
    url: '/api/organizations/:organization_id/domains/:id/test_sign_in/',
    config: {
      scope: 'organization:write',
      within: 'organization',
      level: 8,
      service_keys: false,
    },
    summary: "Start a test of a verified domain's identity provider",
    description:
      'Works before `sso_enforcement` is set, and with changes that wait for an owner. ' +
      'Nothing is changed, and nobody is signed in.',
    response: { 200: TestSignIn },
    work: async ({ request, tx, record }) => {
      const id = uuidParameter(request, 'id');
      const domain = (await findDomain(tx, request.access.organization_id, id)) ?? missing();
      body(request, NoFields);
      record('nothing');
      return startTest(deps, tx, domain);
    },
  });
}

function setupTestRoute(app: FastifyInstance, deps: Deps): void {
  addRoute(app, {
    method: 'POST',
    url: '/api/setup_links/test_sign_in/',
    config: { scope: 'public', no_store: true },
    summary: 'Start a test of the identity provider of a domain with a setup link',
    description: 'Nothing is changed, and nobody is signed in.',
    operationId: 'setup_links_test_sign_in_create',
    tags: ['setup_links'],
    body: GivenLink,
    response: {
      200: TestSignIn,
      400: Problem,
      404: { ...Problem, description: 'The link is unknown, has expired or was revoked.' },
      413: Problem,
      415: Problem,
      429: Problem,
      503: Problem,
    },
    handler: async (request) => {
      const { token } = body(request, GivenLink);
      const { domain } = await openLink(request, deps.db, token);
      return startTest(deps, deps.db, domain);
    },
  });
}

/**
 * Returns the address of a test. Throws 400 if the domain or its provider is not ready for a test.
 */
async function startTest(deps: Deps, db: Queryable, domain: { id: string; domain: string }) {
  const verified = await findVerifiedDomain(db, deps.config, domain.domain);
  if (verified === undefined)
    throw invalid(
      null,
      'verification_required',
      'The domain is not verified: add its TXT record and start the check first.',
    );
  if (findSamlParties(deps.config, await withPending(db, verified)) === undefined)
    throw invalid(
      null,
      'invalid_input',
      'The domain has no SAML provider in use: set the three saml_ fields, and ' +
        'sso_enforcement to "" or "saml".',
    );
  return createTestUrl(deps, domain);
}
