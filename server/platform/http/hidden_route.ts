import { Problem } from './responses.ts';

/** The media type of errors. */
export const problem = 'application/problem+json';

/** The media types of the bodies that a route answers, by status; none where no body is. */
export type HiddenAnswers = Readonly<Record<number, readonly string[]>>;

/**
 * The options of a public route that the OpenAPI document leaves out. It answers nothing but what
 * stands here: the tests hold it to that as they hold the others to the document.
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
