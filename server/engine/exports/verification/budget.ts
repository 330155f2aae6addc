/**
 * The share of an export's processor time at the server that looks on a schedule may take. The
 * cost of a delivery is estimated low, and the cost of a look is learnt from looks (decision 0138).
 */
export const look_share = 0.02;

/** Processor time of a delivery at the server, in milliseconds: of a run, and of each row. */
export const delivery_ms = { run: 40, row: 0.012 } as const;

/** Processor time of a look in milliseconds: of a part, a delivery in it, and each row read. */
const look_ms = { part: 50, delivery: 0.5, row: 0.015 } as const;

/** Time of PostgreSQL and the store for each millisecond that a look takes in this process. */
const stores_factor = 1.5;

/** Measured time is that of the whole process, so one measurement says this much at most. */
const ratios = { least: 0.2, greatest: 10 } as const;
/** Weights of a new measurement: other work only makes it longer, so a short one counts more. */
const weights = { shorter: 0.5, longer: 0.25 } as const;

/** Credit of a new export: its first looks come within minutes. It is paid once. */
export const first_credit_ms = 300;

/** Credit after a person has repaired or accepted a finding: they wait for the next looks. */
export const person_credit_ms = 500;

type Part = { deliveries: number; rows_read: number };

/** Estimates the processor time of a part of a look. */
const estimateOf = ({ deliveries, rows_read }: Part) =>
  look_ms.part + deliveries * look_ms.delivery + rows_read * look_ms.row;

/** Learns from a part that took so long in this process: the new factor, and the cost to charge. */
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
