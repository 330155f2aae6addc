import { Type } from 'typebox';
import { withPlainDomain } from '../../../platform/mail/mailbox.ts';
import { NewInvite } from '../../invites/schema.ts';
import type { InviteRow } from '../../invites/schema.ts';
import { listInvites } from '../../invites/store.ts';
import { pick, plain_kind } from './kind.ts';
import type { Kind } from './kind.ts';

const names = Object.keys(NewInvite.properties);
const all = { limit: 100_000, offset: 0 };

/**
 * Invites. An invite of an existing member is complete and left out (`look.ts`); an expired one is
 * sent again.
 */
export const invite: Kind = {
  ...plain_kind,
  name: 'invite',
  section: 'invites',
  parent: undefined,
  right: 'organization_member',
  is_people: true,
  listUrl: ({ organization_id }) => `/api/organizations/${organization_id}/invites/`,
  schema: Type.Object(NewInvite.properties),
  needs: ['member'],
  identity: 'target_email',
  fixed: ['target_email'],
  defaults: { first_name: '', level: 1, message: null },
  spelled: (fields) => ({
    ...fields,
    target_email: withPlainDomain(String(fields['target_email'])).toLowerCase(),
  }),
  read: async ({ deps, db, organization_id }) =>
    (await db.rows<InviteRow>(listInvites(organization_id, deps.clock.now()).rows(all)))
      .filter(({ is_expired }) => !is_expired)
      .toReversed()
      .map((row) => ({
        id: row.id,
        parent_id: '',
        name: row.target_email,
        fields: { ...pick(row, names), target_email: row.target_email.toLowerCase() },
        secrets: {},
      })),
  // A new invite replaces the existing one of its address.
  change: (home, _standing, body) => invite.create(home, body),
};
