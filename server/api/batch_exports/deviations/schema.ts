import { Type } from 'typebox';
import type { Static } from 'typebox';
import { finding_kinds } from '../../../engine/exports/verification/verification.ts';
import { lineOfText } from '../../../platform/line_of_text.ts';
import { PageQuery } from '../../../platform/http/lists/pagination.ts';
import { queryInstant } from '../../../platform/http/lists/query_instant.ts';
import { instant, text, titled, uuid, whole } from '../../../platform/http/schemas.ts';
import { nullable } from '../../../platform/nullable.ts';
import { VerificationFinding, delivery_fields } from '../verifications/schema.ts';

const states = ['open', 'accepted', 'resolved'] as const;

/** Differences of one kind in one delivery, found by scheduled verification. */
export const Deviation = titled('Deviation', {
  id: uuid(),
  batch_export: uuid(),
  state: Type.Enum([...states], {
    description:
      '`open`: still there; `accepted`: a person says that it is right so; `resolved`: found ' +
      'as delivered again, or the delivery was replaced.',
  }),
  kind: Type.Enum([...finding_kinds], {
    description: 'The kinds of the findings of a verification.',
  }),
  detail: text('The difference, as a sentence.'),
  differences: whole('Rows or files that differ.'),
  example: Type.Object(
    { name: Type.String(), detail: Type.String() },
    { description: 'The first difference: the row, file or receipt, and its fault.' },
  ),
  delivery: nullable(
    Type.Object(delivery_fields, {
      description: 'The delivery that differs; null where there is none.',
    }),
  ),
  first_seen_at: instant('When it was first found.'),
  last_seen_at: instant('When it was last found.'),
  resolved_at: nullable(instant('When a check found it as delivered again.')),
  accepted_at: nullable(instant('When a person accepted it.')),
  accepted_by: nullable(text("The person's name at that time.")),
  accepted_reason: nullable(text('The reason of the person.')),
  repair: VerificationFinding.properties.repair,
});
export type Deviation = Static<typeof Deviation>;

/** The query of `deviations/`. */
export const DeviationsQuery = Type.Object({
  ...PageQuery.properties,
  state: Type.Optional(Type.Enum([...states], { description: 'Only findings in this state.' })),
});

/** The body of `accept/`. */
export const Acceptance = Type.Object({
  reason: lineOfText(1000, 'Why the destination is right so; the statement has it.'),
});

const formats = ['json', 'text'] as const;

/** The query of `statement/`. */
export const StatementQuery = Type.Object({
  after: Type.Optional(queryInstant('Only deliveries whose data interval ends after it.')),
  before: Type.Optional(queryInstant('Only deliveries whose data interval begins before it.')),
  format: Type.Optional(
    Type.Enum([...formats], { description: '`json`, with a signature, or `text` for people.' }),
  ),
});
