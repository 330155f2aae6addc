import type { Answer } from './harness.ts';

/** Status, field and code of a refusal, to be compared at once. */
export const refusalOf = ({ status, body }: Answer) => [status, body.attr, body.code];
