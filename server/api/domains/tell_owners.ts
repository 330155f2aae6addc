import type { FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { personOf } from '../../platform/http/caller/access.ts';
import type { Afterwards } from '../../platform/http/write.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { tellOwners } from '../organizations/store.ts';
import { anchor_fields } from './schema.ts';
import type { DomainRow } from './schema.ts';

const labels: Record<(typeof anchor_fields)[number], string> = {
  domain: 'the name of the domain',
  jit_provisioning_enabled: 'just-in-time provisioning',
  sso_enforcement: 'the enforcement of single sign-on',
  saml_entity_id: 'the entity id of the identity provider',
  saml_acs_url: 'the sign-on URL of the identity provider',
  saml_x509_cert: 'the certificates of the identity provider',
};

/** The person who changed a domain, as shown to its owners. */
type Changer = { by: string; ip: string; organization_id: string };

/** Returns the caller as the person who changed the domain. */
export function changerOf(request: FastifyRequest): Changer {
  const { organization_id } = request.access;
  return { by: personOf(request).email, ip: request.ip, organization_id };
}

/**
 * Mails all owners about a domain that was claimed, changed or deleted: the changes in effect, and
 * the waiting ones. Writes no mail if nothing has changed.
 */
export async function tellOfDomain(
  deps: Pick<Deps, 'mail' | 'outbox' | 'config'>,
  written: { tx: Transaction; afterwards: Afterwards },
  { by, ip, organization_id }: Changer,
  before: DomainRow | undefined,
  after: DomainRow | undefined,
): Promise<void> {
  const { domain } = (before ?? after)!;
  const changed = (
    of: (row: DomainRow | undefined, field: (typeof anchor_fields)[number]) => unknown,
  ) => anchor_fields.filter((field) => (of(before, field) ?? '') !== (of(after, field) ?? ''));
  const effective = changed((row, field) => row?.[field] || null);
  const waiting = changed((row, field) => row?.pending_changes?.[field]).filter(
    (field) => after?.pending_changes?.[field] !== undefined,
  );
  const is_there_still = before !== undefined && after !== undefined;
  if (is_there_still && effective.length + waiting.length === 0) return;
  const valueOf = (field: (typeof anchor_fields)[number]) =>
    field === 'domain' ? ` (${after?.pending_changes?.domain ?? after?.domain})` : '';
  const named = (fields: typeof effective) =>
    fields.map((field) => `${labels[field]}${valueOf(field)}`).join(', ');
  const what = is_there_still ? 'changed' : after === undefined ? 'deleted' : 'claimed';
  const paragraphs = [
    `${by} ${what} the domain ${domain} (from ${ip}).`,
    ...(is_there_still && effective.length > 0 ? [`In effect now: ${named(effective)}.`] : []),
    ...(waiting.length > 0
      ? [
          `Waiting for an owner: ${named(waiting)}. This has no effect until an owner confirms ` +
            'it on the page of the domain.',
        ]
      : []),
    'If you do not expect this change, check the domain and its activity log.',
  ];
  const heading =
    waiting.length > 0 ? `A change of ${domain} waits for you` : `The domain ${domain} was ${what}`;
  await tellOwners(deps, written, organization_id, { heading, paragraphs });
}
