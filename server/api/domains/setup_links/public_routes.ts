import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Static, TSchema } from 'typebox';
import type { Deps } from '../../../deps.ts';
import { body } from '../../../platform/http/bodies/body.ts';
import { inWriteTurn } from '../../../platform/http/limits/owner_turns.ts';
import { Problem } from '../../../platform/http/responses.ts';
import { write } from '../../../platform/http/write.ts';
import type { Activity } from '../../../platform/activity/chain.ts';
import type { Entry } from '../../../platform/http/write.ts';
import type { Queryable } from '../../../platform/postgres/database.ts';
import { splitBy } from '../anchors.ts';
import { readSamlBody } from '../input.ts';
import { readMetadata } from '../metadata_route.ts';
import { challengeName } from '../proof/challenge.ts';
import { checkEntry, domainEntry } from '../proof/proof.ts';
import { settleNow } from '../proof/settle_now.ts';
import { isUnset, saml_fields } from '../saml_fields.ts';
import { ProviderFields } from '../schema.ts';
import type { DomainRow } from '../schema.ts';
import { findDomain, setPending, updateDomain } from '../store.ts';
import { tellOfDomain } from '../tell_owners.ts';
import { GivenLink, GivenMetadata, GivenProvider, Setup } from './schema.ts';
import type { SetupState } from './schema.ts';
import { openLink, touchLink } from './store.ts';
import type { OpenLink } from './store.ts';

const base = '/api/setup_links/';
const config = { scope: 'public', no_store: true } as const;
const refusals = {
  400: Problem,
  404: { ...Problem, description: 'The link is unknown, has expired or was revoked.' },
  413: Problem,
  415: Problem,
  429: Problem,
  503: Problem,
};

/**
 * Routes of `/api/setup_links/`: the requests of the page behind a setup link. The token in the
 * body is the only authority: cookies and keys are ignored, so no other page can use them.
 */
export function publicSetupRoutes(app: FastifyInstance, deps: Deps): void {
  openRoute(app, deps);
  verifyRoute(app, deps);
  metadataRoute(app, deps);
  providerRoute(app, deps);
}

function schemaOf(name: string, summary: string, sent: TSchema, answer: TSchema = Setup) {
  return {
    summary,
    operationId: `setup_links_${name}_create`,
    tags: ['setup_links'],
    body: sent,
    response: { 200: answer, ...refusals },
  };
}

function openRoute(app: FastifyInstance, deps: Deps): void {
  const summary = 'Show the domain and settings of a setup link';
  app.post(
    `${base}open/`,
    { config, schema: schemaOf('open', summary, GivenLink) },
    async (request): Promise<SetupState> => {
      const { token } = body(request, GivenLink);
      const { link, domain } = await openLink(request, deps.db, token);
      await touchLink(deps.db, link.id, deps.clock.now());
      return stateOf(deps, link, domain);
    },
  );
}

function verifyRoute(app: FastifyInstance, deps: Deps): void {
  const summary = 'Check the proof of the domain of a setup link now';
  app.post(
    `${base}verify/`,
    { config, schema: schemaOf('verify', summary, GivenLink) },
    async (request, reply) => {
      const { token } = body(request, GivenLink);
      const asked = await openLink(request, deps.db, token);
      const looked_up = await deps.dns.lookupTxt(challengeName(asked.domain.domain));
      return change(deps, { request, reply, token }, asked.link, async (given) => {
        const { tx, afterwards, link, domain } = given;
        const settled = await settleNow(
          deps,
          { tx, afterwards },
          { organization_id: link.organization_id, asked: domain, looked_up },
        );
        return checkEntry(settled);
      });
    },
  );
}

function metadataRoute(app: FastifyInstance, deps: Deps): void {
  const summary =
    'Read the fields of an identity provider from its SAML metadata, with a setup link';
  app.post(
    `${base}provider_metadata/`,
    { config, schema: schemaOf('provider_metadata', summary, GivenMetadata, ProviderFields) },
    async (request): Promise<Static<typeof ProviderFields>> => {
      const { token, metadata } = body(request, GivenMetadata);
      await openLink(request, deps.db, token);
      return readMetadata(metadata);
    },
  );
}

function providerRoute(app: FastifyInstance, deps: Deps): void {
  const summary = 'Enter the identity provider of a domain with a setup link';
  const schema = {
    ...schemaOf('provider', summary, GivenProvider),
    description:
      'The fields wait for an owner, who puts them into effect (`pending_changes/confirm/`); all ' +
      'owners get a mail. How people must sign in stays as it is.',
  };
  app.post(`${base}provider/`, { config, schema }, async (request, reply) => {
    const { token, ...fields } = readSamlBody(request, GivenProvider);
    const { link } = await openLink(request, deps.db, token);
    return change(deps, { request, reply, token }, link, async (given) => {
      const { tx, afterwards, domain } = given;
      const by = `${link.name} (with a setup link)`;
      const at = { is_at_once: false, set_by: by, now_ms: deps.clock.now() };
      const { now, pending } = splitBy(at, domain, fields);
      await updateDomain(tx, domain.id, now);
      if (pending !== undefined) await setPending(tx, domain.id, pending);
      const after = (await findDomain(tx, link.organization_id, domain.id))!;
      const changer = { by, ip: request.ip, organization_id: link.organization_id };
      await tellOfDomain(deps, { tx, afterwards }, changer, domain, after);
      return domainEntry('updated', domain, after);
    });
  });
}

type Written = { request: FastifyRequest; reply: FastifyReply; token: string };
type Given = {
  tx: Parameters<Parameters<typeof write>[3]>[0];
  afterwards: Parameters<Parameters<typeof write>[3]>[2];
  link: OpenLink;
  domain: DomainRow;
};

/**
 * Changes the domain of the link under its lock, with the link as the author of the entry, and
 * returns the page's new state. The link must still be valid then.
 */
function change(
  deps: Deps,
  { request, reply, token }: Written,
  { organization_id }: OpenLink,
  work: (given: Given) => Promise<Activity>,
) {
  return inWriteTurn(organization_id, () =>
    write(request, reply, 200, async (tx, record, afterwards) => {
      const { link, domain } = await openLink(request, tx, token, 'hold');
      const activity = await work({ tx, afterwards, link, domain });
      record(entryOf(link, activity));
      await touchLink(tx, link.id, deps.clock.now());
      return stateOf(deps, link, await present(tx, link));
    }),
  );
}

function entryOf({ id, mask_value, organization_id }: OpenLink, activity: Activity): Entry {
  const nobody = { user_id: null, user_uuid: null, email: null };
  const actor = { ...nobody, key_id: id, key_mask: mask_value };
  return { ...activity, chain: { organization_id }, actor };
}

async function present(db: Queryable, link: OpenLink): Promise<DomainRow> {
  return (await findDomain(db, link.organization_id, link.domain_id))!;
}

/**
 * Returns the part of the domain that the page may show, including the provider's waiting fields.
 */
function stateOf({ config: { public_url } }: Deps, link: OpenLink, domain: DomainRow): SetupState {
  const { name, expires_at, organization_name, organization_id } = link;
  const { pending_changes: waiting, is_verified, verification_challenge, verification } = domain;
  const shown = { ...domain, ...waiting };
  const { saml_entity_id, saml_acs_url, saml_x509_cert } = shown;
  const service = `${public_url}/api/saml/metadata/?organization=${organization_id}`;
  return {
    name,
    expires_at,
    organization_name,
    domain: domain.domain,
    is_verified,
    verification_challenge,
    verification,
    saml_entity_id,
    saml_acs_url,
    saml_x509_cert,
    has_saml: saml_fields.every((field) => !isUnset(shown[field])),
    is_waiting: saml_fields.some((field) => waiting?.[field] !== undefined),
    service_metadata_url: service,
    service_entity_id: service,
    service_acs_url: `${public_url}/complete/saml/`,
  };
}
