import type { Answer } from './harness.ts';

/** Returns status, field and code of a refusal, to compare them at once. */
export const refusalOf = ({ status, body }: Answer) => [status, body.attr, body.code];
