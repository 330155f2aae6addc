import type { Answer } from '../harness.ts';

/** What a 400 names: `attr code` of every violation, in their order. */
export const faultsOf = ({ body }: Pick<Answer, 'body'>): string[] =>
  body.errors.map((one: { attr: string | null; code: string }) => `${one.attr ?? ''} ${one.code}`);
