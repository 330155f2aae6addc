/**
 * Identifies a primary: the identifier that a cluster has from its creation on, and the timeline,
 * which grows with each promotion of a standby.
 */
export type Epoch = { system_identifier: string; timeline: number };

/**
 * A server's report about itself; `epoch` is undefined if the server does not report one (not
 * PostgreSQL's own).
 */
export type Standing = { is_writable: boolean; epoch: Epoch | undefined };

/** The relation of a session's epoch to the `known` one. */
export type Judgement = 'same' | 'later' | 'earlier' | 'other';

/** Compares the epoch of a session with the latest known one. */
export function judgeEpoch(found: Epoch | undefined, known: Epoch | undefined): Judgement {
  if (found === undefined || known === undefined) return 'same';
  if (found.system_identifier !== known.system_identifier) return 'other';
  if (found.timeline === known.timeline) return 'same';
  return found.timeline > known.timeline ? 'later' : 'earlier';
}

/**
 * Chooses the primary by the servers' answers (undefined: no answer). Of those that accept writes,
 * the highest timeline wins, because an old primary that came back accepts writes too; among
 * equals, the first. Servers that `known` rules out do not count. Returns -1 without a primary.
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

/** One row: `is_writable`, and `system_identifier` and `timeline` if the server reports them. */
export const standing_query = `
  SELECT current_setting('transaction_read_only') = 'off' AS is_writable,
  (SELECT system_identifier::text FROM pg_control_system()) AS system_identifier,
  CASE WHEN NOT pg_is_in_recovery() THEN
    ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::int
  END AS timeline`;

/** The same for a server without a write-ahead log (some services). */
export const plain_standing_query =
  "SELECT current_setting('transaction_read_only') = 'off' AS is_writable";

/** Reads a row of one of the two queries. */
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
