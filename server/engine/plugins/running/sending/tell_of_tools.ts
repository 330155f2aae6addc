import sql from 'sql-template-tag';
import type { Transaction } from '../../../../platform/postgres/database.ts';
import { counted } from '../../../../platform/counted.ts';
import type { Notice } from '../../../notices/notice.ts';
import { writeToolNotice } from '../../../notices/write_notice.ts';
import { lost_reason } from '../../oauth/connection.ts';
import type { Running } from '../running.ts';

type Untold = {
  id: number;
  failures: number;
  held_reason: string | null;
  was_failing: boolean;
  was_aside: boolean;
  set_aside: number;
  was_disconnected: boolean;
  /** Why a person has to connect it again. */
  lost_reason: string | null;
  /** Also false if a person removed the connection. */
  is_connected: boolean;
};

/** After this many failures in a row, about two minutes, a tool counts as failing. */
const failures_min = 5;
const told_at_once_max = 50;

/**
 * Writes a notice for each tool whose state has changed. It fails or does not accept its settings,
 * it has to be connected again, it set events aside, or it recovered. Each change is reported once,
 * by any number of processes. A lost connection does not also count as a failure.
 */
export async function tellOfTools({ db, clock }: Pick<Running, 'db' | 'clock'>): Promise<void> {
  await db.transaction(async (tx) => {
    for (const row of await untold(tx)) {
      const { id, set_aside } = row;
      for (const notice of noticesOf(row)) await writeToolNotice(tx, clock, id, notice);
      await tx.run(sql`UPDATE plugin_cursors SET
        told_failing_at = CASE WHEN ${isFailing(row)}::boolean
          THEN coalesce(told_failing_at, now()) END,
        told_disconnected_at = CASE WHEN ${isDisconnected(row)}::boolean
          THEN coalesce(told_disconnected_at, now()) END,
        told_set_aside_at = CASE WHEN ${set_aside > 0}::boolean
          THEN coalesce(told_set_aside_at, now()) END
        WHERE plugin_config_id = ${id}`);
    }
  });
}

/** Finds and locks tools whose state differs from the reported one. */
function untold(tx: Transaction): Promise<Untold[]> {
  const is_well = sql`(k.held_reason IS NULL AND k.failures = 0)`;
  const is_aside = sql`EXISTS (SELECT 1 FROM plugin_set_aside s WHERE s.plugin_config_id = c.id)`;
  const is_connected = sql`(n.plugin_config_id IS NOT NULL AND n.lost_reason IS NULL)`;
  const is_disconnected = sql`CASE WHEN k.told_disconnected_at IS NULL
    THEN n.lost_reason IS NOT NULL ELSE NOT ${is_connected} END`;
  const is_failing = sql`((k.held_reason IS NOT NULL AND NOT ${is_disconnected})
    OR k.failures >= ${failures_min})`;
  return tx.rows<Untold>(sql`
    SELECT c.id, k.failures, k.held_reason, k.told_failing_at IS NOT NULL AS was_failing,
      k.told_set_aside_at IS NOT NULL AS was_aside, n.lost_reason, ${is_connected} AS is_connected,
      k.told_disconnected_at IS NOT NULL AS was_disconnected,
      (SELECT count(*)::integer FROM plugin_set_aside s WHERE s.plugin_config_id = c.id)
        AS set_aside
    FROM plugin_cursors k JOIN plugin_configs c ON c.id = k.plugin_config_id
      JOIN plugins p ON p.id = c.plugin_id
      LEFT JOIN (SELECT n.plugin_config_id, ${lost_reason} AS lost_reason
        FROM plugin_oauth_connections n) n ON n.plugin_config_id = c.id
    WHERE c.enabled AND p.collection = 'pipeline_destinations'
      AND (CASE WHEN k.told_failing_at IS NULL THEN ${is_failing} ELSE ${is_well} END
        OR (k.told_disconnected_at IS NOT NULL) <> ${is_disconnected}
        OR (k.told_set_aside_at IS NOT NULL) <> ${is_aside})
    ORDER BY c.id LIMIT ${told_at_once_max} FOR UPDATE OF k SKIP LOCKED`);
}

function isFailing(row: Untold): boolean {
  const { failures, held_reason, was_failing } = row;
  if (was_failing) return held_reason !== null || failures > 0;
  return (held_reason !== null && !isDisconnected(row)) || failures >= failures_min;
}

function isDisconnected({ was_disconnected, is_connected, lost_reason: lost }: Untold): boolean {
  return was_disconnected ? !is_connected : lost !== null;
}

function noticesOf(row: Untold): Omit<Notice, 'run'>[] {
  const { failures, held_reason, was_failing, was_aside, was_disconnected, set_aside } = row;
  const facts = { failures, set_aside };
  const notices: Omit<Notice, 'run'>[] = [];
  if (!was_disconnected && row.lost_reason !== null)
    notices.push({ event: 'disconnected', detail: row.lost_reason, facts });
  if (was_disconnected && row.is_connected)
    notices.push({
      event: 'recovered',
      detail: 'It is connected again. Sluice now delivers the events that waited.',
      facts: { ...facts, recovered_from: 'disconnected' },
    });
  if (!was_failing && isFailing(row))
    notices.push({
      event: 'failing',
      detail:
        (isDisconnected(row) ? null : held_reason) ??
        `${counted(failures, 'attempt')} in a row failed. Events wait, and none is lost.`,
      facts,
    });
  if (was_failing && !isFailing(row))
    notices.push({
      event: 'recovered',
      detail: 'It accepts events again. Sluice now delivers those that waited.',
      facts: { ...facts, recovered_from: 'failing' },
    });
  if (!was_aside && set_aside > 0)
    notices.push({
      event: 'rejecting',
      detail:
        `${counted(set_aside, 'event')} set aside, because the tool refused them. Look at ` +
        'the reasons, then send them again or discard them.',
      facts,
    });
  if (was_aside && set_aside === 0)
    notices.push({
      event: 'recovered',
      detail: 'No events are set aside now.',
      facts: { ...facts, recovered_from: 'rejecting' },
    });
  return notices;
}
