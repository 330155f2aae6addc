import type { FastifySchema } from 'fastify';
import { Type } from 'typebox';
import { Problem } from '../../platform/http/responses.ts';
import type { Door } from './protocol.ts';

const description =
  'The key is a write key of the project, where the SDK puts its key. 200 means that every event ' +
  'is stored and survives a crash, but those that are refused; docs/sdks.md tells what that is.';
const refused = {
  400: 'The body is not what the SDK sends, or every event of it was refused.',
  401: 'No write key, or an unknown, expired or revoked one, or a personal key.',
  413: 'The body is larger than 20 MiB, packed or unpacked: send fewer events at a time.',
  503: 'Too busy; Retry-After says when to send again.',
};

/** What the OpenAPI document says of a door of an SDK; bodies are the SDK's own. */
export function doorSchema(
  { summary, answers = ['application/json'], refusals }: Door,
  method: string,
  path: string,
): FastifySchema {
  const name = path.replaceAll(/\W+/g, '_').replaceAll(/^_|_$/g, '');
  const contentOf = (types: readonly string[]) =>
    Object.fromEntries(types.map((type) => [type, { schema: Type.Unknown() }]));
  const problems = Object.entries(refused).map(([status, told]) => [
    status,
    refusals === undefined
      ? { ...Problem, description: told }
      : { description: told, content: contentOf(refusals) },
  ]);
  return {
    operationId: `capture_${name}_${method.toLowerCase()}`,
    tags: ['capture'],
    summary,
    description,
    response: {
      200: {
        description: 'Stored. The body is what the SDK expects.',
        content: contentOf(answers),
      },
      ...Object.fromEntries(problems),
    },
  };
}
