import { Type } from 'typebox';
import type { Static } from 'typebox';
import { backfill_times } from '../../../engine/exports/planning/backfill_area.ts';
import { listed_runs_max } from '../../../engine/exports/planning/backfill_counts.ts';
import { intervals } from '../../../engine/exports/planning/interval.ts';
import { nullable } from '../../../platform/nullable.ts';
import { queryInstant } from '../../../platform/http/lists/query_instant.ts';
import { instant, text, titled, whole } from '../../../platform/http/schemas.ts';

/** The query of `proof/`. */
export const ProofQuery = Type.Object({
  after: Type.Optional(queryInstant('Start of the range; default 30 days before its end.')),
  before: Type.Optional(queryInstant('End of the range; default now.')),
  by: Type.Optional(
    Type.Enum([...backfill_times], {
      description:
        '`inserted_at` (default): rows ingested in the range. `timestamp`: events that happened ' +
        'in it; persons have only the former.',
    }),
  ),
});

const count = (description: string) => nullable(Type.Integer({ description }));

const counts = {
  stored: whole('Rows of the model that the server stores now.'),
  left_out: count('Stored rows that the event filter or the query leaves out.'),
  delivered: count('Stored rows that the export has delivered.'),
  delivered_twice: count(
    'Part of `delivered`: rows that a backfill of mode `all` has delivered again.',
  ),
  set_aside: count('Rows that the destination refused, stored beside its table.'),
  in_progress: count('Rows of a run in progress, or of an uncertain run.'),
  waiting: count('Rows that the schedule will deliver.'),
  not_delivered: count('Rows that no run has delivered or will deliver: start a backfill.'),
  erased: whole(
    'Rows of deliveries in the range that an erasure has removed since; they are no longer ' +
      'stored.',
  ),
};

/** Rows stored against rows delivered. */
export const Proof = titled('Proof', {
  after: instant('Start of the range.'),
  before: instant('End of the range.'),
  by: Type.Enum([...backfill_times]),
  counted_until: instant('Rows ingested later are not counted, because more may still arrive.'),
  detail: text('The totals in a sentence.'),
  totals: Type.Object(counts, {
    description:
      'All counts but `stored` and `erased` are null if the rows of the query cannot be traced ' +
      'to stored rows, because it aggregates, joins or orders.',
  }),
  unit: Type.Enum([...intervals], { description: 'Length of a period.' }),
  periods: Type.Array(
    Type.Object({
      start_at: instant('Start of the period.'),
      end_at: instant('End of the period.'),
      ...counts,
    }),
    { description: `Periods with rows, oldest first; at most ${listed_runs_max}.` },
  ),
});
export type Proof = Static<typeof Proof>;
/** The counts of a period, or of the range. */
export type ProofCounts = Proof['totals'];
