import { Type } from 'typebox';
import type { Static } from 'typebox';
import { nullable } from '../../platform/nullable.ts';
import { lineOfText } from '../../platform/line_of_text.ts';
import { flag, instant, text, titled, uuid } from '../../platform/http/schemas.ts';
import { ManagedBy } from '../managed/schema.ts';
import { Level, Member } from '../members/schema.ts';
import { NewPassword, User } from '../users/schema.ts';

/** Lifetime of an invite after its latest sending: 3 days. */
export const open_for_ms = 3 * 24 * 3_600_000;
/** Most invites of one request. */
export const bulk_max = 1000;

const invite_fields = {
  id: uuid(),
  target_email: Type.String({
    format: 'email',
    description:
      'The address of the invited person. The domain is in lower case, and in punycode for ' +
      'other scripts.',
  }),
  first_name: Type.String(),
  emailing_attempt_made: flag(
    'Whether the mail relay has accepted the mail with the current link.',
  ),
  level: Level,
  is_expired: flag(
    'True if it was sent more than 3 days ago, or if its sender may no longer invite to ' +
      'its level. You can send it again.',
  ),
  created_by: nullable(User),
  created_at: instant(),
  updated_at: instant(),
  message: nullable(Type.String()),
  managed_by: ManagedBy,
};
const link = Type.Optional(
  Type.String({
    format: 'uri',
    description:
      'Accepts the invite; shown only here and in the mail. If a mail carries it, only ' +
      'administrators see it here. `validate_only` creates none and shows none.',
  }),
);

/** An invite in lists. */
export const Invite = titled('Invite', invite_fields);
/** An invite row as SELECT returns it. */
export type InviteRow = Static<typeof Invite>;

/** An invite with its link, for its creator or sender. */
export const InviteWithLink = titled('InviteWithLink', { ...invite_fields, link });
/** An invite and its link, which `validate_only` leaves out. */
export type InviteWithLink = Static<typeof InviteWithLink>;

/** Body of POST, and an item of a bulk. */
export const NewInvite = Type.Object({
  target_email: Type.String({
    trim: true,
    maxLength: 254,
    format: 'email',
    description:
      'Case does not matter. The domain is stored in lower case, in another script as punycode. ' +
      'An open invite for the address is replaced.',
  }),
  first_name: Type.Optional(lineOfText(30, 'One line; default empty.', 0)),
  level: Type.Optional(Level),
  message: Type.Optional(
    nullable(
      Type.String({
        maxLength: 2000,
        description: 'Message in the mail, next to the link; default null.',
      }),
    ),
  ),
});
export type NewInvite = Static<typeof NewInvite>;

const NewInvites = Type.Array(NewInvite, { minItems: 1, maxItems: bulk_max });
/** Documented body of a bulk, which may be a single object. */
export const BulkBody = Type.Union([
  NewInvites,
  titled('InviteBulkList', { invites: NewInvites }),
  NewInvite,
]);
/** Answer of a bulk: the fields of the first invite, and the list of all. */
export const BulkAnswer = titled('InviteBulk', {
  ...InviteWithLink.properties,
  count: Type.Integer(),
  next: Type.Null(),
  previous: Type.Null(),
  results: Type.Array(InviteWithLink),
});

/** The query of the public view of an invite. */
export const ShownQuery = Type.Object({
  token: Type.Optional(Type.String({ maxLength: 200, description: 'From the link.' })),
});
/** An invite on the page behind its link. */
export const ShownInvite = titled('ShownInvite', {
  id: uuid(),
  organization_name: Type.String(),
  invited_by: nullable(
    text('Name or address of the inviting person; null if the account is gone.'),
  ),
  target_email: Type.String(),
  first_name: Type.String(),
  level: Level,
  message: nullable(text("The sender's message.")),
  is_expired: Type.Boolean(),
  has_account: flag('Whether an account with this address exists: then sign in before you accept.'),
});

const name = (description: string) => Type.Optional(lineOfText(150, description, 0));
/** Body of the acceptance. */
export const Acceptance = Type.Object({
  token: Type.Optional(
    Type.String({
      maxLength: 200,
      description:
        "From the link. You may leave it out in a session with the invite's address, verified.",
    }),
  ),
  password: Type.Optional(NewPassword),
  first_name: name('Of the new account; default as the invite says.'),
  last_name: name('Of the new account; default empty.'),
});
/** Answer of the acceptance. */
export const Accepted = titled('AcceptedInvite', {
  organization: Type.Object({ id: uuid(), name: Type.String() }),
  member: Member,
});
