/**
 * The share of an export's processor time at the server that looks on a schedule may take. Both
 * sides are estimates by the same measure (decision 0123), which `npm run verification` checks.
 */
export const look_share = 0.02;

/** Processor time of a delivery at the server, in milliseconds: of a run, and of each row. */
export const delivery_ms = { run: 40, row: 0.012 } as const;

/** Processor time of a look in milliseconds: of a part, a delivery in it, and each row read. */
const look_ms = { part: 50, delivery: 1, row: 0.015 } as const;

/**
 * Credit of a new export, so that its first deliveries are looked at within minutes: some twenty
 * looks. It is paid once.
 */
export const first_credit_ms = 2_000;

/** Credit after a person has repaired or accepted a finding: they wait for the next looks. */
export const person_credit_ms = 500;

/** Estimates the processor time of a part of a look. */
export function lookCost(part: { deliveries: number; rows_read: number }): number {
  return look_ms.part + part.deliveries * look_ms.delivery + part.rows_read * look_ms.row;
}

/** The number of rows that a look may read with so much of its budget. */
export function affordableRows(balance_ms: number): number {
  return Math.max(0, Math.floor(balance_ms / look_ms.row));
}

/** A destination answers for at most a tenth of the time, and is not asked for an hour at most. */
const rest_factor = 9;
const rest_seconds_max = 3_600;

/** The pause after a part that took so long, in seconds. */
export function restAfter(took_ms: number): number {
  return Math.min(rest_seconds_max, (rest_factor * took_ms) / 1_000);
}
