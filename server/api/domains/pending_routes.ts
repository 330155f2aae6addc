import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { NoFields, body } from '../../platform/http/bodies/body.ts';
import { conflict, forbidden } from '../../platform/http/errors.ts';
import { ifMatch } from '../../platform/http/etag.ts';
import { Problem } from '../../platform/http/responses.ts';
import type { Afterwards } from '../../platform/http/write.ts';
import { addWrite } from '../../platform/http/records.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { getDomain } from './found.ts';
import { requirePendingSense } from './input.ts';
import { refuseRename, renameDomain } from './rename.ts';
import { domainEntry } from './proof/proof.ts';
import { Domain } from './schema.ts';
import type { DomainRow } from './schema.ts';
import { setPending, updateDomain } from './store.ts';
import { changerOf, tellOfDomain } from './tell_owners.ts';

const url = '/api/organizations/:organization_id/domains/:id/pending_changes/';
const taking_back = {
  within: 'organization',
  scope: 'organization:write',
  level: 8,
  service_keys: false,
} as const;
const nothing = { ...Problem, description: 'No changes wait.' };
const still_enforced =
  'The same if the new name waits, people must sign in through the domain, or it has a directory.';

/**
 * Routes of `.../domains/:id/pending_changes/`: an owner confirms the waiting changes, or somebody
 * discards them.
 */
export function pendingRoutes(app: FastifyInstance, deps: Deps): void {
  addWrite(app, {
    url: `${url}confirm/`,
    config: {
      within: 'organization',
      scope: 'organization_security:write',
      level: 15,
      recent_factor: true,
      if_match: true,
    },
    summary: 'Confirm the changes of a domain that wait for an owner',
    description:
      'For owners in a session with a confirmation in the last ten minutes ' +
      '(`/api/sessions/@current/confirm/`). Send the ETag of the domain as `If-Match`, ' +
      'so that you confirm exactly the changes that you saw.',
    operationId: 'organizations_domains_pending_changes_confirm_create',
    body: NoFields,
    response: {
      200: Domain,
      409: { ...Problem, description: `${nothing.description} ${still_enforced}` },
    },
    work: async ({ request, tx, record, afterwards }) => {
      const before = await getWaiting(tx, request);
      requireSession(request);
      body(request, NoFields);
      requirePendingSense(before);
      await applyWaiting(tx, deps, request, before, afterwards);
      const after = await getDomain(tx, request);
      record(domainEntry('confirmed', before, after));
      await tellOfDomain(deps, { tx, afterwards }, changerOf(request), before, after);
      return after;
    },
  });

  addWrite(app, {
    method: 'DELETE',
    url,
    config: taking_back,
    summary: 'Discard the changes of a domain that wait for an owner',
    operationId: 'organizations_domains_pending_changes_destroy',
    response: { 204: { type: 'null' }, 409: nothing },
    work: async ({ request, tx, record }) => {
      const before = await getWaiting(tx, request);
      await setPending(tx, before.id, null);
      record(domainEntry('took_back', before, await getDomain(tx, request)));
    },
  });
}

async function applyWaiting(
  tx: Transaction,
  deps: Deps,
  request: FastifyRequest,
  before: DomainRow,
  afterwards: Afterwards,
): Promise<void> {
  const { domain, ...settings } = before.pending_changes ?? {};
  await refuseRename(tx, request, before, { domain, ...settings });
  await updateDomain(tx, before.id, settings);
  if (domain !== undefined)
    await renameDomain(tx, deps, { ...request.access, id: before.id, domain }, afterwards);
  await setPending(tx, before.id, null);
}

/** Throws 403 for a key, because confirming requires the person's own factor. */
function requireSession({ caller }: FastifyRequest): void {
  if (caller.session_id === null)
    throw forbidden(
      'A key cannot confirm changes: sign in as an owner and confirm them there.',
      'needs_session',
    );
}

/** Returns the locked domain. Throws 409 if no change waits, and 412 if the domain has changed. */
async function getWaiting(tx: Transaction, request: FastifyRequest): Promise<DomainRow> {
  const before = await getDomain(tx, request, 'lock');
  ifMatch(request, before);
  if (before.pending_changes === null)
    throw conflict(
      'No changes of this domain wait: an owner confirmed them, or somebody discarded them.',
    );
  return before;
}
