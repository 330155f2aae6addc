import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../deps.ts';
import { commandLine } from '../../platform/command_line.ts';
import { Instance } from './schema.ts';

/** Route that identifies this server. */
export function instanceRoutes(app: FastifyInstance, { config, mail }: Deps): void {
  const instance: Instance = {
    name: config.instance_name ?? null,
    colour: config.instance_colour,
    sends_mail: mail.is_configured,
    command: commandLine('').trim(),
  };
  app.get(
    '/api/instance/',
    {
      config: { scope: 'public' },
      schema: {
        summary: 'Retrieve the name of the server',
        description: 'Everybody gets the same answer, without a key.',
        response: { 200: Instance },
      },
    },
    () => instance,
  );
}
