import { Type } from 'typebox';
import type { Static } from 'typebox';
import { warning_reasons } from '../../../engine/ingest/warnings/warning.ts';
import type { WarningReason } from '../../../engine/ingest/warnings/warning.ts';
import { PageQuery } from '../../../platform/http/lists/pagination.ts';
import { instant, uuid } from '../../../platform/http/schemas.ts';
import { nullable } from '../../../platform/nullable.ts';

/** Reasons for which something is refused and kept. */
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
  detail: Type.String({ description: 'The fault.' }),
  protocol: Type.String({ description: 'The maker of the SDK.' }),
  path: Type.String({ description: 'Where it came in.' }),
  event: nullable(Type.String({ description: 'Its name, where it has one.' })),
  distinct_id: nullable(Type.String({ description: 'Whose it was, where it says that.' })),
  bytes: Type.Integer({ description: 'Size of the content.' }),
};

/** An event, or a whole request, that was refused and can be sent again. */
export const RefusedEvent = Type.Object(fields, { title: 'RefusedEvent' });
/** A refused event as SELECT gives it. */
export type RefusedEventRow = Static<typeof RefusedEvent>;

/** One with its content. */
export const RefusedEventContent = Type.Object(
  {
    ...fields,
    content: Type.String({
      description:
        'The body of a request with this event alone, as text: correct it and send it with ' +
        '`resend/`.',
    }),
    content_base64: Type.String({ description: 'The same as bytes, also where they are no text.' }),
  },
  { title: 'RefusedEventContent' },
);

/** The query parameters of the list. */
export const RefusedEventsQuery = Type.Object({
  ...PageQuery.properties,
  reason: Type.Optional(Type.Enum(kept_reasons, { description: 'Only of this reason.' })),
});

const outcome = {
  id: uuid(),
  outcome: Type.Enum(['stored', 'refused'], {
    description:
      '`stored`: it is stored now, and no longer among the refused events. `refused`: it is ' +
      'refused again and stays.',
  }),
  detail: nullable(Type.String({ description: 'Why it is refused again.' })),
};

/** The result of sending one event again. */
export const ResentEvent = Type.Object(outcome, { title: 'ResentEvent' });

/** The body by which one is sent again. */
export const ResendOne = Type.Object({
  content: Type.Optional(
    Type.String({ minLength: 1, description: 'A corrected content; default that which is kept.' }),
  ),
});

/** The body by which several are sent again. */
export const ResendSeveral = Type.Object({
  reason: Type.Optional(Type.Enum(kept_reasons, { description: 'Only of this reason.' })),
  after: Type.Optional(uuid('Only those behind this one: `next_after` of the answer before.')),
});

/** The results of sending several events again. */
export const ResentEvents = Type.Object(
  {
    stored: Type.Integer({ description: 'So many are stored now.' }),
    refused: Type.Integer({ description: 'So many are refused again, and stay.' }),
    next_after: nullable(uuid('Send this as `after` for the next page; null on the last page.')),
    results: Type.Array(ResentEvent, { description: 'Each of them, oldest first.' }),
  },
  { title: 'ResentEvents' },
);
