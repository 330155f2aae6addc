import type { Answer } from '../harness.ts';

/** Returns the violations of a 400: `attr code` of each, in their order. */
export const faultsOf = ({ body }: Pick<Answer, 'body'>): string[] =>
  body.errors.map((one: { attr: string | null; code: string }) => `${one.attr ?? ''} ${one.code}`);
