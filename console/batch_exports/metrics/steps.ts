/** Returns each step times each power of ten up to 10^15. */
const powers = (steps: number[]) =>
  Array.from({ length: 16 }, (_, digits) => steps.map((step) => step * 10 ** digits)).flat();

const hour = 3_600;
const day = 24 * hour;

/** The possible steps between two lines of an axis, round in its unit. */
export const steps_of = {
  /** Only whole numbers. */
  count: powers([1, 2, 5]),
  seconds: [
    [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30],
    [1, 2, 5, 10, 15, 30].map((minutes) => minutes * 60),
    [1, 2, 3, 6, 12].map((hours) => hours * hour),
    powers([1, 2, 5]).map((days) => days * day),
  ].flat(),
};
