import type { FastifyRequest } from 'fastify';
import { invalid } from '../../platform/http/errors.ts';

/**
 * The values of a query parameter that may be repeated and may list several values separated by commas; undefined when it is absent. With `upper` the spelling of the letters does not
 * matter. Throws 400 for a value that is not one of the choices.
 */
export function choicesAsked(
  request: FastifyRequest,
  name: string,
  choices: readonly string[],
  options: { upper: boolean } = { upper: false },
): string[] | undefined {
  const given = (request.query as Record<string, unknown>)[name];
  if (given === undefined) return undefined;
  const texts = (Array.isArray(given) ? given : [given]) as string[];
  const values = texts.flatMap((text) => text.split(',').map((value) => (options.upper ? value.trim().toUpperCase() : value.trim())));
  if (values.some((value) => !choices.includes(value)))
    throw invalid(name, 'invalid_choice', `Must be one of ${choices.map((choice) => JSON.stringify(choice)).join(', ')}.`);
  return [...new Set(values)];
}
