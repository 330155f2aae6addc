import sql from 'sql-template-tag';
import { Type } from 'typebox';
import { instant, text, whole } from '../../platform/http/schemas.ts';
import { nullable } from '../../platform/nullable.ts';

const states = ['waiting', 'verified', 'differing', 'standing_still', 'not_verifiable'] as const;

/** The fields of an export that report its verification. */
export const verified_answers = {
  verified_through: nullable(
    instant(
      'All rows ingested before this time, since the first interval of the schedule, were ' +
        'found as delivered within the latest cycle. Null: no row yet, or the first ones ' +
        'differ.',
    ),
  ),
  verification: nullable(
    Type.Object(
      {
        state: Type.Enum([...states], {
          description:
            '`waiting`: nothing was verified yet; `differing`: there are findings that nobody ' +
            'accepted; `standing_still`: the destination could not be asked; `not_verifiable`: ' +
            'it never can. `reason` says why.',
        }),
        reason: nullable(text('Why `verified_through` does not advance, as a sentence.')),
        asks: nullable(
          Type.Enum(['seals', 'contents'], {
            description:
              'How looks ask the destination: `seals` cost little, and only deliveries that ' +
              'differ are read; by `contents` all rows are read, as seldom as the budget of ' +
              'the export says. Null: none has ended.',
          }),
        ),
        verified_at: nullable(instant('End of the latest check that could compare everything.')),
        cycle_started_at: nullable(instant('Start of the latest check of all deliveries.')),
        cycle_ended_at: nullable(instant('End of the latest check of all deliveries.')),
        cycles: whole('How many checks of all deliveries have ended.'),
        deviations: whole('Findings that are open and not accepted.'),
        accepted: whole('Findings that are open and accepted.'),
      },
      { description: 'Verification on a schedule; null before it begins.' },
    ),
  ),
};

/** Selects these fields of an export `e`. */
export const verified_columns = sql`
  (SELECT w.verified_through FROM batch_export_watches w
    WHERE w.batch_export_id = e.id AND w.revision = e.revision) AS verified_through,
  (SELECT json_build_object('state', CASE WHEN NOT w.is_verifiable THEN 'not_verifiable'
      WHEN w.reason IS NOT NULL THEN 'standing_still'
      WHEN open.deviations > 0 THEN 'differing'
      WHEN w.verified_at IS NULL THEN 'waiting' ELSE 'verified' END,
    'reason', w.reason, 'asks', w.asks, 'verified_at', wire_instant(w.verified_at),
    'cycle_started_at', wire_instant(w.cycle_started_at),
    'cycle_ended_at', wire_instant(w.cycle_ended_at), 'cycles', w.cycles,
    'deviations', open.deviations, 'accepted', open.accepted)
   FROM batch_export_watches w CROSS JOIN LATERAL (
     SELECT count(*) FILTER (WHERE d.accepted_at IS NULL) AS deviations, count(d.accepted_at)
       AS accepted
     FROM batch_export_deviations d WHERE d.batch_export_id = w.batch_export_id
       AND d.revision = w.revision AND d.resolved_at IS NULL) open
   WHERE w.batch_export_id = e.id AND w.revision = e.revision) AS verification`;
