import { Type } from 'typebox';
import type { Static } from 'typebox';
import { warning_reasons } from '../../../engine/ingest/warnings/warning.ts';
import type { WarningReason } from '../../../engine/ingest/warnings/warning.ts';
import { PageQuery } from '../../../platform/http/lists/pagination.ts';
import { instant, text, titled, uuid, whole } from '../../../platform/http/schemas.ts';
import { nullable } from '../../../platform/nullable.ts';

/** Reasons for which a refused event is kept. */
const kept_reasons = (Object.keys(warning_reasons) as WarningReason[]).filter(
  (reason) =>
    warning_reasons[reason] === 'refused' && !/^erased_|_dropped$|^feature_off$/.test(reason),
);

const fields = {
  id: uuid(),
  received_at: instant('When it came.'),
  reason: Type.Enum(kept_reasons, {
    description: 'Why; `request_refused` for a whole request. docs/ingestion_warnings.md has them.',
  }),
  detail: text('The fault.'),
  protocol: text('The maker of the SDK.'),
  path: text('Path that received it.'),
  event: nullable(text('Its name, if it has one.')),
  distinct_id: nullable(text('Its distinct id, if it has one.')),
  bytes: whole('Size of the content.'),
};

/** A refused event, or a refused request, that can be sent again. */
export const RefusedEvent = titled('RefusedEvent', fields);
/** A refused event as SELECT returns it. */
export type RefusedEventRow = Static<typeof RefusedEvent>;

/** A refused event with its content. */
export const RefusedEventContent = titled('RefusedEventContent', {
  ...fields,
  content: text(
    'The body of a request with this event alone, as text: correct it and send it with ' +
      '`resend/`.',
  ),
  content_base64: text('The same as bytes, also if they are no text.'),
});

/** The query parameters of the list. */
export const RefusedEventsQuery = Type.Object({
  ...PageQuery.properties,
  reason: Type.Optional(Type.Enum(kept_reasons, { description: 'Only events with this reason.' })),
});

const outcome = {
  id: uuid(),
  outcome: Type.Enum(['stored', 'refused'], {
    description:
      '`stored`: it is stored now, and no longer among the refused events. `refused`: it was ' +
      'refused again, and is kept.',
  }),
  detail: nullable(text('Why it was refused again.')),
};

/** The result of sending one event again. */
export const ResentEvent = titled('ResentEvent', outcome);

/** The body that sends one event again. */
export const ResendOne = Type.Object({
  content: Type.Optional(
    Type.String({ minLength: 1, description: 'A corrected content; default that which is kept.' }),
  ),
});

/** The body that sends several events again. */
export const ResendSeveral = Type.Object({
  reason: Type.Optional(Type.Enum(kept_reasons, { description: 'Only events with this reason.' })),
  after: Type.Optional(uuid('Only events after this one: `next_after` of the answer before.')),
});

/** The results of sending several events again. */
export const ResentEvents = titled('ResentEvents', {
  stored: whole('Number of events that are stored now.'),
  refused: whole('Number of events that were refused again.'),
  next_after: nullable(uuid('Send this as `after` for the next page; null on the last page.')),
  results: Type.Array(ResentEvent, { description: 'Results of the events, oldest first.' }),
});
