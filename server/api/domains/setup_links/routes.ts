import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Deps } from '../../../deps.ts';
import { changesOf } from '../../../platform/activity/changes.ts';
import { isoInstant } from '../../../platform/clock.ts';
import { personOf, uuidParameter } from '../../../platform/http/caller/access.ts';
import { beginBody } from '../../../platform/http/bodies/body.ts';
import { wrongExpiry } from '../../../platform/http/bodies/expiry.ts';
import { invalid, missing } from '../../../platform/http/errors.ts';
import { ifMatch } from '../../../platform/http/etag.ts';
import { isValidateOnly } from '../../../platform/http/lists/query.ts';
import type { Entry } from '../../../platform/http/write.ts';
import { addList, addWrite } from '../../../platform/http/records.ts';
import { tellOwners } from '../../organizations/store.ts';
import type { DomainRow } from '../schema.ts';
import { NewSetupLink, SetupLink, SetupLinkCreate } from './schema.ts';
import type { SetupLinkRow } from './schema.ts';
import {
  countLiveLinks,
  deleteSetupLink,
  findSetupLink,
  insertSetupLink,
  listSetupLinks,
} from './store.ts';
import { linkCreated } from './told.ts';
import { getDomain } from '../found.ts';

const list = '/api/organizations/:organization_id/domains/:id/setup_links/';
const reading = {
  within: 'organization',
  scope: 'organization_security:write',
  level: 15,
} as const;
// The link gives access to somebody who is no member, so only an owner creates it, as for
// directories.
const changing = { ...reading, recent_factor: true, locks_organization: true } as const;
const tags = ['setup_links'];
const links_max = 5;
const day_ms = 24 * 3_600_000;
const days_usual = 7;
const days_max = 30;

/** Routes of the setup links of a domain: list, create, revoke. */
export function setupLinkRoutes(app: FastifyInstance, deps: Deps): void {
  addList(app, {
    url: list,
    config: reading,
    summary: 'List the working setup links of a domain, newest first',
    tags,
    answer: SetupLink,
    rows: async (request) => {
      const { id } = await getDomain(deps.db, request);
      return listSetupLinks(id, deps.clock.now());
    },
  });
  createRoute(app, deps);
  addWrite(app, {
    method: 'DELETE',
    url: `${list}:link_id/`,
    config: changing,
    summary: 'Revoke a setup link at once',
    tags,
    response: { 204: { type: 'null' } },
    work: async ({ request, tx, record }) => {
      const domain = await getDomain(tx, request, 'lock');
      const id = uuidParameter(request, 'link_id');
      const before = (await findSetupLink(tx, domain.id, id, 'lock')) ?? missing();
      ifMatch(request, before);
      await deleteSetupLink(tx, before.id);
      record(entryOf(domain, before, undefined));
    },
  });
}

function createRoute(app: FastifyInstance, deps: Deps): void {
  addWrite(app, {
    url: list,
    config: { ...changing, no_store: true },
    summary: 'Create a link with which somebody without an account sets up single sign-on',
    description:
      'The page behind the link shows the DNS record and the provider of this domain, and ' +
      'nothing else of the organization. Each entry waits for an owner. The link ' +
      'ends when you are no longer an owner, and when the domain gets another name. All ' +
      'owners get a mail.',
    tags,
    body: SetupLinkCreate,
    response: { 201: NewSetupLink },
    work: async ({ request, tx, record, afterwards }) => {
      const domain = await getDomain(tx, request, 'lock');
      const now = deps.clock.now();
      const { name, expires_at = isoInstant(now + days_usual * day_ms) } = linkBody(request, now);
      refuseTooMany(await countLiveLinks(tx, domain.id, now));
      const { organization_id } = request.access;
      const { user_id, email } = personOf(request);
      const { created, token } = await insertSetupLink(
        tx,
        deps.secrets,
        { organization_id, domain, name, maker_id: user_id },
        { created_at: isoInstant(now), expires_at },
      );
      record(entryOf(domain, undefined, created));
      const said = linkCreated(domain.domain, created, email);
      await tellOwners(deps, { tx, afterwards }, organization_id, said);
      if (isValidateOnly(request)) return created;
      return { ...created, url: `${deps.config.public_url}/setup#${token}` };
    },
  });
}

function linkBody(request: FastifyRequest, now_ms: number) {
  const { sent, endWith } = beginBody(request, SetupLinkCreate);
  return endWith(wrongExpiry(sent['expires_at'], now_ms, days_max));
}

function refuseTooMany(live: number): void {
  if (live < links_max) return;
  throw invalid(
    null,
    'max_items',
    `The domain has ${live} setup links that work, and ${links_max} is the most: revoke one that ` +
      'nobody uses, then try again.',
  );
}

function entryOf(
  { domain }: DomainRow,
  before: SetupLinkRow | undefined,
  after: SetupLinkRow | undefined,
): Entry {
  const { id, name } = (after ?? before)!;
  const said = (row: SetupLinkRow | undefined) =>
    row === undefined
      ? undefined
      : { name: row.name, domain, mask_value: row.mask_value, expires_at: row.expires_at };
  return {
    activity: after === undefined ? 'deleted' : 'created',
    scope: 'setup_link',
    item_id: id,
    item_name: name,
    changes: changesOf(said(before), said(after)),
  };
}
