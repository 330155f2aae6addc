/**
 * The share of an export's processor time that scheduled looks may use. The cost of a delivery is a
 * low estimate; the cost of a look is learnt from measurements (decision 0138).
 */
export const look_share = 0.02;

/** Estimated processor time of a delivery at the server, in milliseconds: per run, and per row. */
export const delivery_ms = { run: 40, row: 0.012 } as const;

/** Estimated processor time of a look in milliseconds: per part, per delivery, and per row read. */
const look_ms = { part: 50, delivery: 0.5, row: 0.015 } as const;

/** Time of PostgreSQL and the store for each millisecond of a look in this process. */
const stores_factor = 2;

/** Bounds of one measurement, because it covers the whole process. */
const ratios = { least: 0.2, greatest: 10 } as const;
/** Weights of a new measurement: other work only makes it longer, so a short one counts more. */
const weights = { shorter: 0.5, longer: 0.25 } as const;

/** One-time credit of a new export, so that its first looks come within minutes. */
export const first_credit_ms = 100;

/** Credit after a person has repaired or accepted a finding: they wait for the next looks. */
export const person_credit_ms = 500;

type Part = { deliveries: number; rows_read: number };

/** Estimates the processor time of a part of a look. */
const estimateOf = ({ deliveries, rows_read }: Part) =>
  look_ms.part + deliveries * look_ms.delivery + rows_read * look_ms.row;

/** Learns from the measured time of a part: returns the new factor and the cost to charge. */
export function chargeOf(
  part: Part,
  took_cpu_ms: number,
  factor: number,
): { factor: number; cost_ms: number } {
  const estimate = estimateOf(part);
  const measured = (took_cpu_ms * stores_factor) / estimate;
  const ratio = Math.min(ratios.greatest, Math.max(ratios.least, measured));
  const weight = ratio < factor ? weights.shorter : weights.longer;
  const learnt = factor + weight * (ratio - factor);
  return { factor: learnt, cost_ms: estimate * learnt };
}

/** Returns the number of rows that a look may read with this budget. */
export function affordableRows(balance_ms: number): number {
  return Math.max(0, Math.floor(balance_ms / look_ms.row));
}

/** A destination spends at most a tenth of the time on answers; a pause is at most an hour. */
const rest_factor = 9;
const rest_seconds_max = 3_600;

/** Returns the pause after a part that took this long, in seconds. */
export function restAfter(took_ms: number): number {
  return Math.min(rest_seconds_max, (rest_factor * took_ms) / 1_000);
}
