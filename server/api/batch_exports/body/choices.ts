import type { FastifyRequest } from 'fastify';
import { invalid } from '../../../platform/http/errors.ts';

/**
 * Returns the values of a query parameter that may be repeated and may list several values
 * separated by commas; undefined if it is absent. Ignores letter case. Throws 400 for a value that
 * is not one of the choices.
 */
export function choicesAsked(
  request: FastifyRequest,
  name: string,
  choices: readonly string[],
): string[] | undefined {
  const given = (request.query as Record<string, unknown>)[name];
  if (given === undefined) return undefined;
  const texts = (Array.isArray(given) ? given : [given]) as string[];
  const byLetters = new Map(choices.map((choice) => [choice.toLowerCase(), choice]));
  const values = texts.flatMap((text) =>
    text.split(',').map((value) => byLetters.get(value.trim().toLowerCase())),
  );
  if (!values.every((value) => value !== undefined))
    throw invalid(
      name,
      'invalid_choice',
      `Must be one of ${choices.map((choice) => JSON.stringify(choice)).join(', ')}.`,
    );
  return [...new Set(values)];
}
