import sql from 'sql-template-tag';
import type { Deps } from '../../deps.ts';
import { appendActivity } from '../../platform/activity/chain.ts';
import type { Actor } from '../../platform/activity/chain.ts';
import { changesOf } from '../../platform/activity/changes.ts';
import { conflict } from '../../platform/http/errors.ts';
import type { Afterwards } from '../../platform/http/write.ts';
import { domainOf } from '../../platform/mail/mailbox.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { findVerifiedDomain } from '../domains/store.ts';
import { deleteMember, hasOtherOwner } from '../members/store.ts';
import type { Identity } from '../users/store.ts';
import { tellOwners } from '../organizations/store.ts';

/** The membership that ends with a change of address. */
export type Leaving = { organization_id: string; name: string; domain: string; level: number };

/**
 * Returns the membership that ends with the new address: its verified domain enforces a provider
 * for the current address, and no owner has exempted the person. Undefined if no membership ends.
 * Throws 409 for the only owner. The caller holds the organization's lock if the answer must stay
 * valid.
 */
export async function findLeaving(
  tx: Transaction,
  { config }: Pick<Deps, 'config'>,
  user: Pick<Identity, 'id' | 'email'>,
  email: string,
): Promise<Leaving | undefined> {
  const home = await findVerifiedDomain(tx, config, user.email);
  if (home === undefined || home.sso_enforcement === '') return undefined;
  if (domainOf(email).toLowerCase() === home.domain) return undefined;
  const next = await findVerifiedDomain(tx, config, email);
  if (next?.organization_id === home.organization_id && next.sso_enforcement !== '')
    return undefined;
  const member = await tx.row<{ id: string; name: string; level: number }>(sql`
    SELECT m.id, m.level, o.name FROM members m JOIN organizations o ON o.id = m.organization_id
    WHERE m.user_id = ${user.id} AND m.organization_id = ${home.organization_id}::uuid
      AND NOT m.is_sso_exempt`);
  if (member === undefined) return undefined;
  if (member.level === 15 && !(await hasOtherOwner(tx, home.organization_id, member.id)))
    throw conflict(
      `You are the only owner of ${member.name}, and ${home.domain} enforces single sign-on. ` +
        'Exempt yourself on the security page of the organization, or make somebody else an ' +
        'owner first.',
    );
  const { name, level } = member;
  return { organization_id: home.organization_id, name, domain: home.domain, level };
}

/**
 * Ends a membership after the address has left the domain; otherwise the person could sign in
 * without the provider. Records it in the organization's log, and mails its owners. The caller
 * holds the locks of the organization and the person.
 */
export async function leave(
  deps: Deps,
  written: { tx: Transaction; afterwards: Afterwards },
  actor: Actor,
  user: Pick<Identity, 'id' | 'uuid' | 'email'>,
  { organization_id, name, domain, level }: Leaving,
): Promise<void> {
  const { tx } = written;
  await deleteMember(tx, organization_id, user.id);
  const changes = [
    ...changesOf({ level }, {}),
    ...changesOf(undefined, { method: 'address_changed', domain }),
  ];
  const entry = { activity: 'left', scope: 'member', item_id: user.uuid, item_name: user.email };
  await appendActivity(tx, deps.secrets, { organization_id }, actor, { ...entry, changes });
  await tellOwners(deps, written, organization_id, {
    heading: `A member left ${domain}`,
    paragraphs: [
      `${user.email} changed the address of their account to one outside of ${domain}, which ` +
        `enforces single sign-on. They are no longer a member of ${name}.`,
      'To keep a membership with another address, exempt the member on the security page of ' +
        'the organization first.',
    ],
  });
}
