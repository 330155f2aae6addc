import sql, { empty } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { isoInstant } from '../../platform/clock.ts';
import type { Database, Transaction } from '../../platform/postgres/database.ts';
import type { NoticeEvent } from './notice.ts';

/**
 * A delivery that one process has claimed; `attempts` includes this attempt. A mail also contains
 * the recipient's other waiting notices.
 */
export type DueDelivery = {
  id: number;
  team_id: number;
  attempts: number;
  is_mail: boolean;
  target_id: string | null;
  address: string | null;
  notice_id: string;
  event: NoticeEvent;
  body: string;
  /** null: a notice about a tool */
  batch_export_id: string | null;
};

/**
 * The claim of a process: its lease ends at `leased_until` (ms), and projects after its last one
 * come first.
 */
export type NoticeClaimant = { now: number; leased_until: number; last_team_id: number };

/** Number of concurrent attempts of one project, over all processes. */
const project_attempts_max = 4;
/** Number of notices in one mail. */
const mail_notices_max = 100;

/**
 * The advisory lock that lets one process claim at a time, so that its counts stay true until it
 * has claimed.
 */
const claim_lock = 7_301_021;

/**
 * Claims up to `count` due deliveries, in the order of their start. Guarantees, over all processes:
 * one attempt at a time for each recipient, and four for each project. Projects take turns, the
 * longest due delivery of each first, but targets that refused their latest delivery come last. A
 * recipient gets no notice of an export while an earlier one is in progress. A target gets its
 * requested pause. Deliveries of a dead process become due again when its lease expires.
 */
export async function claimDueDeliveries(
  db: Database,
  claimant: NoticeClaimant,
  count: number,
): Promise<DueDelivery[]> {
  return db.transaction(async (tx) => {
    await tx.row(sql`SELECT pg_advisory_xact_lock(${claim_lock})`);
    const claimed: DueDelivery[] = [];
    let last = claimant.last_team_id;
    while (claimed.length < count) {
      const round = await claimRound(
        tx,
        { ...claimant, last_team_id: last },
        count - claimed.length,
      );
      claimed.push(...round);
      if (round.length === 0 && last === 0) break;
      last = round.at(-1)?.team_id ?? 0;
    }
    return claimed;
  });
}

/** Claims one delivery of each project after the last one. */
async function claimRound(
  tx: Transaction,
  { now, leased_until, last_team_id }: NoticeClaimant,
  count: number,
): Promise<DueDelivery[]> {
  const at = isoInstant(now);
  // `project` skips over the index notice_deliveries_waiting from project to project, only as far
  // as LIMIT needs. FOR UPDATE SKIP LOCKED: the deletion of a target must not block all senders.
  // Rows that changed meanwhile are checked again.
  const claimed = await tx.rows<DueDelivery>(sql`
    WITH RECURSIVE held AS MATERIALIZED (
      SELECT team_id, recipient FROM notice_deliveries WHERE is_under_way
        AND next_attempt_at > ${at}::timestamptz
    ), full_projects AS MATERIALIZED (
      SELECT team_id FROM held GROUP BY team_id
        HAVING count(DISTINCT recipient) >= ${project_attempts_max}
    ), project AS (
      SELECT (SELECT team_id FROM notice_deliveries WHERE outcome = 'pending'
        AND team_id > ${last_team_id} ORDER BY team_id LIMIT 1) AS team_id
      UNION ALL
      SELECT (SELECT d.team_id FROM notice_deliveries d WHERE d.outcome = 'pending'
        AND d.team_id > project.team_id ORDER BY d.team_id LIMIT 1) FROM project
        WHERE project.team_id IS NOT NULL
    ), longest_due AS MATERIALIZED (
      SELECT due.id FROM project CROSS JOIN LATERAL (
        SELECT coalesce((${longestDue(at, hears)}), (${longestDue(at, empty)})) AS id) due
      WHERE project.team_id NOT IN (SELECT team_id FROM full_projects) AND due.id IS NOT NULL
      LIMIT ${count}
    ), free AS MATERIALIZED (
      SELECT id FROM notice_deliveries WHERE id IN (SELECT id FROM longest_due)
        AND outcome = 'pending' AND next_attempt_at <= ${at}::timestamptz FOR UPDATE SKIP LOCKED
    )
    ${takeFree(leased_until)}`);
  return claimed.toSorted((one, other) => one.team_id - other.team_id);
}

/**
 * Claims the recipient's other deliveries that are due or untried for one mail, the oldest first,
 * none before an earlier notice of its export. The recipient is locked, so no other process claims
 * them meanwhile.
 */
export async function claimBeside(
  db: Database,
  { id }: DueDelivery,
  { now, leased_until }: Pick<NoticeClaimant, 'now' | 'leased_until'>,
): Promise<DueDelivery[]> {
  const at = isoInstant(now);
  return db.rows<DueDelivery>(sql`
    WITH free AS MATERIALIZED (
      SELECT d.id FROM notice_deliveries own JOIN notice_deliveries d
        ON d.team_id = own.team_id AND d.recipient = own.recipient AND d.id <> own.id
      WHERE own.id = ${id} AND d.outcome = 'pending'
        AND (d.attempts = 0 OR d.next_attempt_at <= ${at}::timestamptz)
        AND NOT EXISTS (
          SELECT 1 FROM notice_deliveries earlier
          WHERE earlier.subject = d.subject AND earlier.recipient = d.recipient
            AND earlier.outcome = 'pending' AND earlier.id < d.id AND earlier.id <> own.id
            AND earlier.attempts > 0 AND earlier.next_attempt_at > ${at}::timestamptz)
      ORDER BY d.id LIMIT ${mail_notices_max - 1} FOR UPDATE OF d SKIP LOCKED
    )
    ${takeFree(leased_until)}`);
}

/** Claims the deliveries that are `free`. */
function takeFree(leased_until: number): Sql {
  return sql`
    UPDATE notice_deliveries d SET attempts = d.attempts + 1, is_under_way = true,
      next_attempt_at = ${isoInstant(leased_until)}::timestamptz
    FROM free, notices n WHERE d.id = free.id AND n.id = d.notice_id
    RETURNING d.id, d.team_id, d.attempts, d.target_id, d.address, n.id AS notice_id, n.event,
      n.body, d.batch_export_id, NOT EXISTS (SELECT 1 FROM notice_targets t
        WHERE t.id = d.target_id AND t.type <> 'email') AS is_mail`;
}

/**
 * The latest attempt at target `t` succeeded. This also holds for new targets and for mails, which
 * have no target.
 */
const hears = sql`AND coalesce(t.last_attempt ->> 'outcome', 'delivered') = 'delivered'`;

/**
 * Finds the longest due delivery of `project` that `which` allows. The index
 * notice_deliveries_waiting has them in this order, and notice_deliveries_of_subject finds an
 * earlier notice of the same export or tool.
 */
function longestDue(at: string, which: Sql): Sql {
  return sql`
    SELECT d.id FROM notice_deliveries d LEFT JOIN notice_targets t ON t.id = d.target_id
    WHERE d.outcome = 'pending' AND d.team_id = project.team_id
      AND d.next_attempt_at <= ${at}::timestamptz
      AND (d.team_id, d.recipient) NOT IN (SELECT team_id, recipient FROM held)
      AND (t.held_until IS NULL OR t.held_until <= ${at}::timestamptz) ${which}
      AND NOT EXISTS (
        SELECT 1 FROM notice_deliveries earlier
        WHERE earlier.subject = d.subject AND earlier.recipient = d.recipient
          AND earlier.outcome = 'pending' AND earlier.id < d.id)
    ORDER BY d.next_attempt_at, d.id LIMIT 1`;
}
