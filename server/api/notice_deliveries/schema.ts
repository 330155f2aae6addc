import { Type } from 'typebox';
import type { Static } from 'typebox';
import { notice_events } from '../../engine/notices/notice.ts';
import { PageQuery } from '../../platform/http/lists/pagination.ts';
import { nullable } from '../../platform/nullable.ts';
import { instant, text, titled, uuid, whole } from '../../platform/http/schemas.ts';

const delivery_outcomes = ['pending', 'delivered', 'given_up'] as const;

/** The query of the list. */
export const DeliveriesQuery = Type.Object({
  ...PageQuery.properties,
  target: Type.Optional(uuid('Only deliveries to this target.')),
  batch_export: Type.Optional(uuid('Only notices of this export.')),
  outcome: Type.Optional(Type.Enum([...delivery_outcomes])),
});

const tried = {
  at: instant('When it ended.'),
  outcome: Type.Enum(['delivered', 'failed', 'given_up']),
  status: nullable(
    whole(
      "The HTTP status of the receiver's answer; null without an answer and for mails. " +
        'Sluice reads nothing else of the answer.',
    ),
  ),
  detail: nullable(text('The error, and what to do.')),
};

const fields = {
  id: whole('Id of the delivery.'),
  team_id: whole('The project of the export.'),
  notice: uuid('Id of the notice; webhooks send it as `webhook-id`.'),
  event: Type.Enum([...notice_events]),
  batch_export: nullable(uuid('The export that the notice is about; null: it is about a tool.')),
  plugin_config: nullable(whole('The tool that the notice is about.')),
  target: nullable(uuid('The target; null if an administrator gets the notice by mail.')),
  address: nullable(text('The administrator; null if the notice goes to a target.')),
  outcome: Type.Enum([...delivery_outcomes], {
    description: '`pending`: the next attempt is at `next_attempt_at`.',
  }),
  attempts: whole('Attempts since it was last sent.'),
  next_attempt_at: nullable(instant('Time of the next attempt; null once the outcome is final.')),
  last_try: nullable(Type.Object(tried, { description: 'The latest attempt; null before it.' })),
  created_at: instant('When it happened.'),
};

/** A notice for one recipient, in lists. */
export const NoticeDelivery = titled('NoticeDelivery', fields);
export type NoticeDelivery = Static<typeof NoticeDelivery>;

/** A delivery with all its attempts. */
export const NoticeDeliveryRecord = titled('NoticeDeliveryRecord', {
  ...fields,
  body: text(
    'The exact body for the target, with ******** in place of a secret; a mail says the same ' +
      'in words.',
  ),
  tries: Type.Array(Type.Object({ number: Type.Integer(), ...tried }), {
    description: 'Every attempt, oldest first.',
  }),
});
export type NoticeDeliveryRecord = Static<typeof NoticeDeliveryRecord>;
