import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { NoFields, body } from '../../platform/http/bodies/body.ts';
import { forbidden, ownFactorRequired } from '../../platform/http/errors.ts';
import type { ApiError } from '../../platform/http/errors.ts';
import { Problem } from '../../platform/http/responses.ts';
import { addList, addRecord, addRoute, addWrite } from '../../platform/http/records.ts';
import type { Records } from '../../platform/http/records.ts';
import { write } from '../../platform/http/write.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { refuseDeactivated } from '../deactivation/store.ts';
import { getDomain } from './found.ts';
import { isAnchor, isAtOnce, splitChanges } from './anchors.ts';
import { challengeName } from './proof/challenge.ts';
import { claimDomain } from './claim.ts';
import { metadataRoute } from './metadata_route.ts';
import { readDomainChanges, readNewDomain } from './input.ts';
import { pendingRoutes } from './pending_routes.ts';
import { refuseRename, renameDomain } from './rename.ts';
import { checkEntry, domainEntry } from './proof/proof.ts';
import { settleNow } from './proof/settle_now.ts';
import { Domain, DomainCreate, DomainPatch } from './schema.ts';
import { publicSetupRoutes } from './setup_links/public_routes.ts';
import { setupLinkRoutes } from './setup_links/routes.ts';
import type { DomainChanges, DomainRow } from './schema.ts';
import { ssoChoices } from './sso_choices.ts';
import {
  deleteDomain,
  findDomain,
  hasDirectory,
  listDomains,
  setPending,
  updateDomain,
} from './store.ts';
import { changerOf, tellOfDomain } from './tell_owners.ts';

const base = '/api/organizations/:organization_id/domains/';
const one = `${base}:id/`;
const reading = { within: 'organization', scope: 'organization:read' } as const;
// Owners are told who changed a domain, so it must be a person.
const changing = {
  within: 'organization',
  scope: 'organization:write',
  level: 8,
  service_keys: false,
} as const;

/**
 * Routes of `/api/organizations/:organization_id/domains/`: list, create, retrieve, change, delete,
 * verify.
 */
export function domainRoutes(app: FastifyInstance, deps: Deps): void {
  listRoutes(app, deps);
  recordRoutes(app, deps);
  pendingRoutes(app, deps);
  metadataRoute(app);
  verifyRoute(app, deps);
  setupLinkRoutes(app, deps);
  publicSetupRoutes(app, deps);
}

function listRoutes(app: FastifyInstance, deps: Deps): void {
  addList(app, {
    url: base,
    config: reading,
    summary: 'List the domains of an organization, by name',
    answer: Domain,
    rows: ({ access }) => listDomains(access.organization_id),
  });

  const description =
    'The answer has the `verification_challenge`: add it as a TXT record at ' +
    '`_sluice-challenge.<domain>`. The server looks it up by itself from then on; `verify/` ' +
    'does it at once.';
  addWrite(app, {
    url: base,
    config: changing,
    summary: 'Claim a domain',
    description,
    body: DomainCreate,
    response: { 201: Domain },
    work: async ({ request, tx, record, afterwards }) => {
      // Earlier claimants get a mail.
      await refuseDeactivated(tx, request.caller.user_id, 'claim domains');
      const { domain, ...settings } = readNewDomain(request, ssoChoices(deps.config));
      const { organization_id } = request.access;
      const id = await claimDomain(tx, deps, organization_id, domain, afterwards);
      const claimed = (await findDomain(tx, organization_id, id))!;
      await changeAnchors(tx, request, claimed, settings);
      const created = (await findDomain(tx, organization_id, id))!;
      record(domainEntry('created', undefined, created));
      await tellOfDomain(deps, { tx, afterwards }, changerOf(request), undefined, created);
      return created;
    },
  });
}

const records: Records<DomainRow> = {
  url: one,
  answer: Domain,
  reading,
  changing,
  get: getDomain,
  entry: domainEntry,
};

function recordRoutes(app: FastifyInstance, deps: Deps): void {
  const enforced =
    'It gets another name while people must sign in through it, or it has a directory.';
  addRecord(app, records, {
    retrieve: { summary: 'Retrieve a domain' },
    change: {
      description:
        'Changes of an owner with a key of all scopes, or in a session with a recent ' +
        'confirmation, take effect at once. Other changes wait under `pending_changes` until an ' +
        'owner confirms them; the current settings keep working meanwhile. All owners get a ' +
        'mail. With another `domain`, the proof restarts, and people who signed in through the ' +
        'provider of the old name sign in again.',
      refusals: { 409: { ...Problem, description: enforced } },
      patch: { summary: 'Change the sent fields of a domain', body: DomainPatch },
      put: { summary: 'Change a domain; absent fields keep their values', body: DomainPatch },
      apply: async ({ tx, request, before, afterwards }) => {
        const changes = readDomainChanges(request, before, ssoChoices(deps.config));
        await refuseRename(tx, request, before, changes);
        const { domain } = await changeAnchors(tx, request, before, changes);
        if (domain !== undefined && domain !== before.domain)
          await renameDomain(tx, deps, { ...request.access, id: before.id, domain }, afterwards);
        return (after) => tellOfDomain(deps, { tx, afterwards }, changerOf(request), before, after);
      },
    },
    remove: {
      summary: 'Give a domain up; accounts stay',
      description:
        'While a verified domain decides who signs in (SAML, enforcement, just-in-time ' +
        'provisioning, a directory), only an owner can delete it, as in PATCH.',
      apply: async ({ tx, request, before, afterwards }) => {
        if (!isAtOnce(request) && isAnchor(before, await hasDirectory(tx, before.id)))
          throw refusedDeletion(request);
        await deleteDomain(tx, before.id);
        await tellOfDomain(deps, { tx, afterwards }, changerOf(request), before, undefined);
      },
    },
  });
}

function verifyRoute(app: FastifyInstance, deps: Deps): void {
  const description =
    'Asks all DNS servers at once, for 5 seconds at most, and answers with the domain, ' +
    'verified or not; `verification` has the answers. Works in every state.';
  addRoute(app, {
    method: 'POST',
    url: `${one}verify/`,
    config: changing,
    summary: 'Check the DNS proof of a domain now',
    description,
    response: { 200: Domain },
    handler: async (request, reply) => {
      // Before the transaction, because DNS may be slow and a lock must be short.
      const asked = await getDomain(deps.db, request);
      body(request, NoFields);
      const looked_up = await deps.dns.lookupTxt(challengeName(asked.domain));
      return write(request, reply, 200, async (tx, record, afterwards) => {
        const { organization_id } = request.access;
        const settled = await settleNow(
          deps,
          { tx, afterwards },
          { organization_id, asked, looked_up },
        );
        record(checkEntry(settled));
        return settled.after;
      });
    },
  });
}

/**
 * Applies the changes except the name, or lets them wait for an owner; returns the applied changes.
 */
async function changeAnchors(
  tx: Transaction,
  request: FastifyRequest,
  before: DomainRow,
  changes: DomainChanges,
): Promise<DomainChanges> {
  const { now, pending } = splitChanges(request, before, changes);
  const { domain: _name, ...settings } = now;
  await updateDomain(tx, before.id, settings);
  if (pending !== undefined) await setPending(tx, before.id, pending);
  return now;
}

function refusedDeletion({ access }: FastifyRequest): ApiError {
  return access.level === 15
    ? ownFactorRequired()
    : forbidden(
        'This domain decides who signs in, so only an owner can delete it: with a key of all ' +
          'scopes, or in the console after a confirmation.',
      );
}
