/**
 * What tells one primary from the one before it: the identifier that a cluster has from its
 * creation on, and the timeline, which grows with each promotion of a standby.
 */
export type Epoch = { system_identifier: string; timeline: number };

/** What a server says of itself; `epoch` is undefined where it does not tell (not PostgreSQL's). */
export type Standing = { is_writable: boolean; epoch: Epoch | undefined };

/** Whether a session with that epoch may be worked on by who has seen `known`. */
export type Judgement = 'same' | 'later' | 'earlier' | 'other';

/** Compares the epoch of a session with the latest one that was seen. */
export function judgeEpoch(found: Epoch | undefined, known: Epoch | undefined): Judgement {
  if (found === undefined || known === undefined) return 'same';
  if (found.system_identifier !== known.system_identifier) return 'other';
  if (found.timeline === known.timeline) return 'same';
  return found.timeline > known.timeline ? 'later' : 'earlier';
}

/**
 * Which of the servers is the primary, by what each answered (undefined: nothing): of those that
 * take writes the one of the highest timeline, because an old primary that came back takes writes
 * too; among equals the first. Those that `known` rules out are left aside. -1 when there is none.
 */
export function choosePrimary(
  answers: readonly (Standing | undefined)[],
  known: Epoch | undefined,
): number {
  let chosen = -1;
  for (const [index, answer] of answers.entries()) {
    if (answer?.is_writable !== true) continue;
    const judgement = judgeEpoch(answer.epoch, known);
    if (judgement === 'earlier' || judgement === 'other') continue;
    const best = answers[chosen];
    if (best === undefined || judgeEpoch(answer.epoch, best.epoch) === 'later') chosen = index;
  }
  return chosen;
}

/** One row: `is_writable`, and where the server tells them `system_identifier` and `timeline`. */
export const standing_query = `
  SELECT current_setting('transaction_read_only') = 'off' AS is_writable,
  (SELECT system_identifier::text FROM pg_control_system()) AS system_identifier,
  CASE WHEN NOT pg_is_in_recovery() THEN
    ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::int
  END AS timeline`;

/** The same of a server that knows no write-ahead log (some services). */
export const plain_standing_query =
  "SELECT current_setting('transaction_read_only') = 'off' AS is_writable";

/** Reads a row of one of the two questions. */
export function readStanding(row: {
  is_writable: boolean;
  system_identifier?: string;
  timeline?: number | null;
}): Standing {
  const { is_writable, system_identifier, timeline } = row;
  const epoch =
    system_identifier === undefined || timeline === undefined || timeline === null
      ? undefined
      : { system_identifier, timeline };
  return { is_writable, epoch };
}
