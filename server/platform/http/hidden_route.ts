import { Problem } from './responses.ts';

/** The media type of errors. */
export const problem = 'application/problem+json';

/** The media types of the bodies that a route returns, by status; empty without a body. */
export type HiddenAnswers = Readonly<Record<number, readonly string[]>>;

/**
 * Returns the options of a public route that the OpenAPI document omits. It may only return these
 * answers: the tests check it against them, as they check the others against the document.
 */
export function hiddenRoute(answers: HiddenAnswers) {
  const response = Object.fromEntries(
    Object.entries(answers).map(([status, types]) => [
      status,
      types.length === 0
        ? { type: 'null' }
        : {
            content: Object.fromEntries(
              types.map((type) => [type, { schema: type === problem ? Problem : {} }]),
            ),
          },
    ]),
  );
  return {
    config: { scope: 'public', accepts_anything: true },
    schema: { hide: true, response },
  } as const;
}
