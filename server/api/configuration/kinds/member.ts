import { Type } from 'typebox';
import { withPlainDomain } from '../../../platform/mail/mailbox.ts';
import { Level } from '../../members/schema.ts';
import type { MemberRow } from '../../members/schema.ts';
import { listMembers } from '../../members/store.ts';
import { plain_kind } from './kind.ts';
import type { Kind } from './kind.ts';

const all = { limit: 100_000, offset: 0 };

/**
 * Members by their addresses, with their levels. No configuration creates a member: people are
 * invited.
 */
export const member: Kind = {
  ...plain_kind,
  name: 'member',
  section: 'members',
  parent: undefined,
  right: 'organization_member',
  is_people: true,
  listUrl: ({ organization_id }) => `/api/organizations/${organization_id}/members/`,
  schema: Type.Object({
    email: Type.String({ trim: true, format: 'email', description: 'Who it is.' }),
    level: Level,
  }),
  identity: 'email',
  fixed: ['email'],
  spelled: (fields) => ({
    ...fields,
    email: withPlainDomain(String(fields['email'])).toLowerCase(),
  }),
  read: async ({ db, organization_id }) =>
    (await db.rows<MemberRow>(listMembers(organization_id).rows(all))).map(({ user, level }) => ({
      id: user.uuid,
      parent_id: '',
      name: user.email,
      fields: { email: user.email.toLowerCase(), level },
      secrets: {},
    })),
  create: () => [],
};
