import type { FastifyRequest } from 'fastify';
import { isOfAgent } from '../../platform/http/caller/agent.ts';
import { invalidMany } from '../../platform/http/errors.ts';
import { attrOfPath } from './wanted.ts';
import type { Configuration } from './wanted.ts';

/**
 * Throws 400 when an agent sends the value of a secret: what an agent knows stands in its context,
 * and in what is kept of it. A person enters secrets, and the agent says `keep`.
 */
export function refuseSecretsOfAgent(request: FastifyRequest, { objects }: Configuration): void {
  if (!isOfAgent(request)) return;
  const given = objects.flatMap(({ path, secrets }) =>
    Object.entries(secrets).flatMap(([field, secret]) =>
      'value' in secret ? [attrOfPath(path, field)] : [],
    ),
  );
  if (given.length > 0)
    throw invalidMany(
      given.map((attr) => ({
        attr,
        code: 'invalid_input',
        detail:
          'No secret goes through an agent: write {"keep": true}, and let a person enter it in ' +
          'the console. One that was written down should be replaced.',
      })),
    );
}
