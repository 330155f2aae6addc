/** The process's only source of the present instant; tests pass their own clock through `deps`. */
export type Clock = {
  /** Milliseconds since the epoch. */
  now(): number;
};

/** The machine's clock. */
export const systemClock: Clock = { now: () => Date.now() };

/**
 * Returns the instant as ISO 8601 UTC text with six digits after the second and `Z`, the wire
 * format of a time.
 */
export function isoInstant(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, -1)}000Z`;
}
