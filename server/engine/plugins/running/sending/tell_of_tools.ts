import sql from 'sql-template-tag';
import { counted } from '../../../../platform/counted.ts';
import type { Notice } from '../../../notices/notice.ts';
import { writeToolNotice } from '../../../notices/write_notice.ts';
import type { Running } from '../running.ts';

type Untold = {
  id: number;
  failures: number;
  held_reason: string | null;
  was_failing: boolean;
  was_aside: boolean;
  set_aside: number;
};

/** After so many failures in a row, about two minutes, a tool counts as failing. */
const failures_min = 5;
const told_at_once_max = 50;

/**
 * Writes a notice for each tool whose state has changed: it fails or does not accept its settings,
 * it set events aside, or it recovered from either. Each change is told once, whatever number of
 * processes look.
 */
export async function tellOfTools({ db, clock }: Pick<Running, 'db' | 'clock'>): Promise<void> {
  await db.transaction(async (tx) => {
    const isFailing = sql`(k.held_reason IS NOT NULL OR k.failures >= ${failures_min})`;
    const isWell = sql`(k.held_reason IS NULL AND k.failures = 0)`;
    const isAside = sql`EXISTS (SELECT 1 FROM plugin_set_aside s WHERE s.plugin_config_id = c.id)`;
    const rows = await tx.rows<Untold>(sql`
      SELECT c.id, k.failures, k.held_reason, k.told_failing_at IS NOT NULL AS was_failing,
        k.told_set_aside_at IS NOT NULL AS was_aside,
        (SELECT count(*)::integer FROM plugin_set_aside s WHERE s.plugin_config_id = c.id)
          AS set_aside
      FROM plugin_cursors k JOIN plugin_configs c ON c.id = k.plugin_config_id
        JOIN plugins p ON p.id = c.plugin_id
      WHERE c.enabled AND p.collection = 'pipeline_destinations'
        AND (CASE WHEN k.told_failing_at IS NULL THEN ${isFailing} ELSE ${isWell} END
          OR (k.told_set_aside_at IS NOT NULL) <> ${isAside})
      ORDER BY c.id LIMIT ${told_at_once_max} FOR UPDATE OF k SKIP LOCKED`);
    for (const row of rows) {
      const { id, failures, held_reason, was_failing, set_aside } = row;
      for (const notice of noticesOf(row)) await writeToolNotice(tx, clock, id, notice);
      const is_failing =
        held_reason !== null || (was_failing ? failures > 0 : failures >= failures_min);
      await tx.run(sql`UPDATE plugin_cursors SET
        told_failing_at = CASE WHEN ${is_failing}::boolean
          THEN coalesce(told_failing_at, now()) END,
        told_set_aside_at = CASE WHEN ${set_aside > 0}::boolean
          THEN coalesce(told_set_aside_at, now()) END
        WHERE plugin_config_id = ${id}`);
    }
  });
}

function noticesOf(row: Untold): Omit<Notice, 'run'>[] {
  const { failures, held_reason, was_failing, was_aside, set_aside } = row;
  const facts = { failures, set_aside };
  const notices: Omit<Notice, 'run'>[] = [];
  if (!was_failing && (held_reason !== null || failures >= failures_min))
    notices.push({
      event: 'failing',
      detail:
        held_reason ??
        `${counted(failures, 'attempt')} in a row failed. Events wait, and none is lost.`,
      facts,
    });
  if (was_failing && held_reason === null && failures === 0)
    notices.push({
      event: 'recovered',
      detail: 'It takes events again. Those that waited are delivered now.',
      facts: { ...facts, recovered_from: 'failing' },
    });
  if (!was_aside && set_aside > 0)
    notices.push({
      event: 'rejecting',
      detail:
        `${counted(set_aside, 'event')} set aside, because the tool did not take them. Look at ` +
        'the reasons, then send them again or discard them.',
      facts,
    });
  if (was_aside && set_aside === 0)
    notices.push({
      event: 'recovered',
      detail: 'No event is set aside any more.',
      facts: { ...facts, recovered_from: 'rejecting' },
    });
  return notices;
}
