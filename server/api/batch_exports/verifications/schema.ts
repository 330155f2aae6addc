import { Type } from 'typebox';
import type { Static } from 'typebox';
import { backfill_times } from '../../../engine/exports/planning/backfill_area.ts';
import {
  finding_kinds,
  verification_statuses,
} from '../../../engine/exports/verification/verification.ts';
import { kept_findings_max } from '../../../engine/exports/verification/part_end.ts';
import { PageQuery } from '../../../platform/http/lists/pagination.ts';
import { nullable } from '../../../platform/nullable.ts';
import { flag, instant, text, titled, uuid, whole } from '../../../platform/http/schemas.ts';

/** The description of both routes that start a repair. */
export const repair_description =
  'For files, a run writes them again in their place. For events that are appended to a ' +
  'table of PostgreSQL or MySQL, a run does the same, and removes the remaining rows of the ' +
  'delivery in the same transaction. Any other delivery to a table leaves the ledger, and a ' +
  'backfill of its data interval delivers it again: delete its remaining rows first. ' +
  '`repair` of the finding says which way applies.';

/** The body of `verifications/`. */
export const NewVerification = Type.Object({
  start_at: Type.Optional(
    nullable(instant('Only deliveries whose data interval ends after it; null: all before.')),
  ),
  end_at: Type.Optional(
    nullable(instant('Only deliveries whose data interval begins before it; null: all after.')),
  ),
});

/** A comparison of deliveries with their destination, in answers. */
export const Verification = titled('Verification', {
  id: uuid(),
  batch_export: uuid(),
  status: Type.Enum([...verification_statuses]),
  start_at: nullable(instant('Start of the range; null: no bound.')),
  end_at: nullable(instant('End of the range; null: no bound.')),
  detail: text('Its progress or result, in sentences.'),
  progress: Type.Object({
    deliveries: nullable(whole('Null before the first part begins.')),
    deliveries_checked: whole('Newest deliveries first.'),
    records: nullable(whole('Rows of these deliveries.')),
    records_checked: Type.Integer(),
    estimated_end_at: nullable(
      instant('When it ends if the rest takes as long; null: not known, or ended.'),
    ),
  }),
  differences: whole('Differences that were found.'),
  counts: Type.Object(
    Object.fromEntries(finding_kinds.map((kind) => [kind, Type.Integer()])) as Record<
      (typeof finding_kinds)[number],
      ReturnType<typeof Type.Integer>
    >,
    { description: `The findings by kind; at most ${kept_findings_max} are kept.` },
  ),
  notes: Type.Array(Type.String(), {
    description: 'How deliveries were compared if their rows could not be read one by one.',
  }),
  is_unproven: flag('True where a part could not be compared; `notes` say why.'),
  verified_through: nullable(
    instant(
      'All rows ingested before this time, since the first interval of the schedule, were ' +
        'found as delivered. Null before the end, or if the first rows differ.',
    ),
  ),
  created_at: instant('Time of the request.'),
  started_at: nullable(instant('When a worker began.')),
  finished_at: nullable(instant('When it ended.')),
  last_updated_at: instant('Time of its latest change.'),
});
export type Verification = Static<typeof Verification>;

/** The ways in which a finding can be repaired. */
const repair_actions = ['rewrite', 'deliver_again', 'retry'] as const;

/** The delivery that a finding is about. */
export const delivery_fields = {
  id: uuid(),
  run: uuid('Its newest completed run.'),
  data_interval_start: instant('Start of its data interval.'),
  data_interval_end: instant('End of its data interval.'),
  by: Type.Enum([...backfill_times], { description: 'The clock of the interval.' }),
};

/** A difference between a delivery and its destination. */
export const VerificationFinding = titled('VerificationFinding', {
  number: whole('Its place among the findings.'),
  kind: Type.Enum([...finding_kinds], {
    description:
      '`missing`: rows or files are gone; `doubled`: a row occurs too often; `changed`: a ' +
      'value or a file differs; `foreign`: no delivery brought it; `receipt`: the receipt is ' +
      'gone or differs; `unreadable`: the place refuses to show it; `uncertain`: its run ' +
      'ended during the commit.',
  }),
  name: text('The row, file or receipt.'),
  detail: text('The difference, as a sentence.'),
  column: nullable(text('The differing column.')),
  expected: nullable(text('Its value when delivered, clipped.')),
  found: nullable(text('Its value at the destination, clipped.')),
  delivery: nullable(
    Type.Object(delivery_fields, {
      description: 'The delivery that differs; null where it is not known, or there is none.',
    }),
  ),
  repair: nullable(
    Type.Object(
      {
        action: Type.Enum([...repair_actions], {
          description:
            '`rewrite`: a run writes the delivery again in its place; `deliver_again`: the ' +
            'delivery leaves the ledger and a backfill of its interval delivers it; `retry`: ' +
            'a retry finds out whether the rows are there.',
        }),
        detail: text('What the repair does, in sentences.'),
        run: nullable(uuid('The run that was started; null: none.')),
        backfill: nullable(uuid('The backfill that was started; null: none.')),
      },
      { description: 'How `repair/` mends the delivery; null where only you can.' },
    ),
  ),
});
export type VerificationFinding = Static<typeof VerificationFinding>;

/** The query of `findings/`. */
export const FindingsQuery = Type.Object({
  ...PageQuery.properties,
  kind: Type.Optional(
    Type.Enum([...finding_kinds], { description: 'Only findings of this kind.' }),
  ),
});

/** The body of `repair/`. */
export const NewRepair = Type.Object({ delivery: uuid('The delivery of a finding.') });

/** Run or backfill that a repair has started. */
export const Repair = titled('Repair', {
  delivery: uuid(),
  action: Type.Enum([...repair_actions]),
  run: nullable(uuid('The run that writes the delivery again; null: none.')),
  backfill: nullable(uuid('The backfill that delivers it again; null: none.')),
});
export type Repair = Static<typeof Repair>;
