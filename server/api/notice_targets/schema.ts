import { Type } from 'typebox';
import type { Static } from 'typebox';
import { notice_events, notice_services } from '../../engine/notices/notice.ts';
import { hidden_part } from '../../engine/notices/webhook_url.ts';
import { lineOfText } from '../../platform/line_of_text.ts';
import { nullable } from '../../platform/nullable.ts';
import { flag, instant, text, titled, uuid, whole } from '../../platform/http/schemas.ts';
import { ManagedBy } from '../managed/schema.ts';

const exports_max = 100;

const target_types = ['email', 'webhook', ...notice_services] as const;

const fields = {
  name: lineOfText(100, "A name for people, such as the target's channel."),
  address: Type.String({
    trim: true,
    format: 'email',
    maxLength: 254,
    description: 'Where mails go.',
  }),
  url: Type.String({
    trim: true,
    minLength: 1,
    maxLength: 4096,
    description:
      'The address that Sluice posts to: http or https, without user, password or fragment. ' +
      'It is encrypted at rest. Answers show its scheme and host. For `pagerduty` the ' +
      'default is the address for accounts in the United States.',
  }),
  secret: text(
    'The secret that signs webhooks (Standard Webhooks): `whsec_` and 24 to 64 bytes in ' +
      'base64. If you send none, the server creates one and shows it in this answer only. For ' +
      '`pagerduty` the integration key, which is required. It is encrypted at rest and never ' +
      'returned.',
  ),
  events: Type.Array(Type.Enum([...notice_events]), {
    minItems: 1,
    maxItems: 20,
    description: 'The events to notify about; default all. docs/notices.md explains each.',
  }),
  batch_export_ids: nullable(
    Type.Array(uuid(), {
      minItems: 1,
      maxItems: exports_max,
      description:
        'Only notices of these exports of the project; null (default): of all exports, also ' +
        'future ones.',
    }),
  ),
  enabled: flag(
    'Whether notices are sent; default true. A webhook that answers 410 is switched off.',
  ),
};

const shown_url = text(
  `The address: scheme and host, and ${hidden_part} for path and query, with the last four ` +
    'characters if they are long. A body may repeat it to keep the address.',
);

const DisabledReason = Type.Object(
  {
    code: Type.Enum(['gone'], { description: '`gone`: the receiver answered 410.' }),
    detail: text('What happened and what to do, for people.'),
    at: instant('When.'),
  },
  {
    description:
      'Why the server switched the target off; null while it is enabled, and when a person ' +
      'switched it off.',
  },
);

const LastAttempt = Type.Object(
  {
    at: instant('Time of the attempt.'),
    notice: uuid('The id of the notice; webhooks have it as `webhook-id`.'),
    event: Type.Enum([...notice_events]),
    batch_export: nullable(uuid('Null: the notice was about a tool.')),
    outcome: Type.Enum(['delivered', 'failed', 'given_up'], {
      description: '`failed`: the next attempt is at `next_attempt_at`.',
    }),
    detail: nullable(text('The error and what to do, for people.')),
    next_attempt_at: nullable(instant('Time of the next attempt.')),
  },
  { description: 'The latest attempt to tell something; null before the first.' },
);

const LastTest = Type.Object(
  {
    at: instant('When it ended.'),
    is_delivered: flag('Whether the target accepted it.'),
    detail: nullable(text('The error and what to do, for people.')),
  },
  { description: 'The latest result of `test/`; null before the first.' },
);

/** A target in answers. */
export const NoticeTarget = titled('NoticeTarget', {
  id: uuid(),
  team_id: whole('The project of the exports.'),
  type: Type.Enum([...target_types]),
  name: nullable(text('What people call it; null: it has no name.')),
  address: nullable(fields.address),
  url: nullable(shown_url),
  events: fields.events,
  batch_export_ids: fields.batch_export_ids,
  enabled: fields.enabled,
  disabled_reason: nullable(DisabledReason),
  last_attempt: nullable(LastAttempt),
  last_test: nullable(LastTest),
  created_at: instant('When it was created.'),
  last_updated_at: instant('When it was changed last.'),
  managed_by: ManagedBy,
});

/** A target row as SELECT returns it. */
export type NoticeTargetRow = Static<typeof NoticeTarget>;

/** The answer that creates a target. */
export const NewNoticeTarget = titled('NewNoticeTarget', {
  ...NoticeTarget.properties,
  secret: nullable(
    text(
      'The secret that the server created for the webhook, shown only here; null where the ' +
        'body had one, for all other types, and with `validate_only`, which creates none.',
    ),
  ),
});

const settable = {
  // Null for the address or secret that the type does not have, so that an answer can be sent back.
  name: Type.Optional(nullable(fields.name)),
  address: Type.Optional(nullable(fields.address)),
  url: Type.Optional(nullable(fields.url)),
  secret: Type.Optional(fields.secret),
  events: Type.Optional(fields.events),
  batch_export_ids: Type.Optional(fields.batch_export_ids),
  enabled: Type.Optional(fields.enabled),
};

/** Body of POST; `type` says which other fields are required. */
export const NoticeTargetCreate = Type.Object({
  type: Type.Enum([...target_types], {
    description:
      'The kind of target. It cannot change. `email` needs `address`; `webhook`, `slack` and ' +
      '`microsoft_teams` need `url`; `pagerduty` needs `secret`.',
  }),
  team_id: Type.Optional(
    whole('Under an organization: the project, by default its oldest. Under a project: ignored.'),
  ),
  ...settable,
});

/** Body of PATCH and PUT: absent fields keep their values. */
export const NoticeTargetPatch = Type.Object(settable);

/** The fields that a request may change. */
export type NoticeTargetChanges = Static<typeof NoticeTargetPatch>;

/** The answer of `test/`. */
export const NoticeTargetTest = titled('NoticeTargetTest', {
  is_delivered: nullable(
    flag(
      'Whether the relay took the mail, or the receiver answered with a status from 200 to ' +
        '299; null with `validate_only`.',
    ),
  ),
  detail: nullable(text('The error and what to do, for people.')),
});
