import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { changesOf } from '../../platform/activity/changes.ts';
import type { Change } from '../../platform/activity/changes.ts';
import { personOf } from '../../platform/http/caller/access.ts';
import { beginBody } from '../../platform/http/bodies/body.ts';
import { closedTo } from '../../platform/http/caller/entrance.ts';
import { invalid } from '../../platform/http/errors.ts';
import type { Violation } from '../../platform/http/errors.ts';
import { isInRanges, rangeFaults } from '../../platform/http/guards/ip_ranges.ts';
import { addRecord } from '../../platform/http/records.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { OrganizationSecurity, SecurityPatch } from './schema.ts';
import type { SecurityChanges, SecurityRow } from './schema.ts';
import {
  findClosed,
  findForeignDomains,
  findMembers,
  readSecurity,
  setAcceptedProviders,
  setExemptMembers,
  updateSecurity,
} from './store.ts';
import { tellOfSecurity } from './tell_owners.ts';

const url = '/api/organizations/:organization_id/security/';

/**
 * Routes of `/api/organizations/:organization_id/security/`: the organization's requirements for
 * signing in. Only owners change them, with a recent confirmation or a key with the scope; all
 * owners get a mail.
 */
export function securityRoutes(app: FastifyInstance, deps: Deps): void {
  addRecord(
    app,
    {
      url,
      answer: OrganizationSecurity,
      reading: { within: 'organization', scope: 'organization:read', level: 8 },
      changing: {
        within: 'organization',
        scope: 'organization_security:write',
        level: 15,
        recent_factor: true,
        locks_organization: true,
      },
      get: (db, { access }) => readSecurity(db, access.organization_id),
      entry: (activity, before, after, _, { access }) => ({
        activity,
        scope: 'organization_security',
        item_id: access.organization_id,
        item_name: null,
        changes: changesBetween(before, after),
      }),
    },
    {
      retrieve: {
        summary: "Retrieve an organization's requirements for signing in",
        operationId: 'organizations_security_retrieve',
      },
      change: {
        description:
          'Applies from the next request on. A change that would shut you out is refused: exempt ' +
          'yourself first, or include your own address. All owners get a mail.',
        patch: {
          summary: "Change an organization's requirements for signing in",
          operationId: 'organizations_security_partial_update',
          body: SecurityPatch,
        },
        put: {
          summary: 'Change it; absent fields keep their values',
          operationId: 'organizations_security_update',
          body: SecurityPatch,
        },
        apply: async ({ tx, request, before, afterwards }) => {
          await apply(tx, request, await readChanges(tx, request), deps.clock.now());
          await refuseOwnLockout(tx, request);
          return (after) =>
            tellOfSecurity(deps, { tx, afterwards }, request, changesBetween(before, after));
        },
      },
    },
  );
}

function changesBetween(before: SecurityRow | undefined, after: SecurityRow | undefined): Change[] {
  return changesOf(before, after, ['outside_members']);
}

/** Returns the checked changes. Throws one 400 that lists every violation. */
async function readChanges(tx: Transaction, request: FastifyRequest): Promise<SecurityChanges> {
  const { passed, endWith } = beginBody(request, SecurityPatch);
  const ranges = textsOf(passed['allowed_ip_ranges']);
  const violations: Violation[] = rangeFaults('allowed_ip_ranges', ranges);
  const isBound = ranges.length > 0 && violations.length === 0;
  if (isBound && !isInRanges(request.ip, ranges))
    violations.push({
      attr: 'allowed_ip_ranges',
      code: 'invalid_input',
      detail:
        `Your own address, ${request.ip}, is in none of the ranges: you would shut yourself ` +
        'out.',
    });
  return endWith([...violations, ...(await strangers(tx, request, passed))]);
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}

async function strangers(
  tx: Transaction,
  { access }: FastifyRequest,
  passed: Record<string, unknown>,
): Promise<Violation[]> {
  const { organization_id } = access;
  const names = textsOf(passed['accepted_providers']);
  const uuids = textsOf(passed['exempt_members']);
  const domains = await findForeignDomains(tx, organization_id, names);
  const members = await findMembers(tx, organization_id, uuids);
  const unknown = (attr: string, detail: string, is_known: (text: string) => boolean) =>
    textsOf(passed[attr]).flatMap((text, index) =>
      is_known(text.toLowerCase())
        ? []
        : [{ attr: `${attr}__${index}`, code: 'invalid_choice' as const, detail }],
    );
  return [
    ...unknown(
      'accepted_providers',
      'No other organization of this server has a verified domain of this name.',
      (name) => domains.has(name),
    ),
    ...unknown('exempt_members', 'The organization has no such member.', (one) => members.has(one)),
  ];
}

async function apply(
  tx: Transaction,
  request: FastifyRequest,
  changes: SecurityChanges,
  now_ms: number,
): Promise<void> {
  const { organization_id } = request.access;
  await updateSecurity(tx, organization_id, changes);
  const { accepted_providers, exempt_members } = changes;
  if (accepted_providers !== undefined) {
    const domains = await findForeignDomains(tx, organization_id, accepted_providers);
    const place = { organization_id, user_id: personOf(request).user_id };
    await setAcceptedProviders(tx, place, [...domains.values()], now_ms);
  }
  if (exempt_members !== undefined) await setExemptMembers(tx, organization_id, exempt_members);
}

/** Throws 400 if the caller would lose access. */
async function refuseOwnLockout(tx: Transaction, request: FastifyRequest): Promise<void> {
  const caller = personOf(request);
  const place = { organization_id: request.access.organization_id, user_id: caller.user_id };
  const closed = await findClosed(tx, place, closedTo(caller));
  if (closed === null) return;
  const fields = {
    sso_enforced: 'requires_sso',
    second_factor_required: 'provider_is_second_factor',
    own_factor_required: 'accepted_providers',
  };
  throw invalid(
    fields[closed as keyof typeof fields],
    'invalid_input',
    'This change would shut you out: sign in through a provider of the organization first, ' +
      'or include yourself in exempt_members.',
  );
}
