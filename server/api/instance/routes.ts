import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../deps.ts';
import { commandLine } from '../../platform/command_line.ts';
import { Instance } from './schema.ts';
import { addRoute } from '../../platform/http/records.ts';

/** Route that identifies this server. */
export function instanceRoutes(app: FastifyInstance, { config, mail }: Deps): void {
  const instance: Instance = {
    name: config.instance_name ?? null,
    colour: config.instance_colour,
    sends_mail: mail.is_configured,
    command: commandLine('').trim(),
  };
  addRoute(app, {
    url: '/api/instance/',
    config: { scope: 'public' },
    summary: 'Retrieve the name of the server',
    description: 'Everybody gets the same answer, without a key.',
    response: { 200: Instance },
    handler: () => instance,
  });
}
