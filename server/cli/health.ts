import { once } from 'node:events';
import { get } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { ownUrl } from '../config/public_url.ts';
import type { CommandContext } from './command_context.ts';

const answer_ms = 5_000;

/**
 * `sluice health`: asks the process on this machine, server or worker, whether it is ready. Exit
 * code 0: one of them is ready. For health checks of images and supervisors.
 */
export async function health(
  { config, say }: CommandContext,
  { json = false }: { json?: boolean },
): Promise<number> {
  const ports = [config.port, config.worker_port].filter((port) => port !== undefined);
  const answers = await Promise.all(
    ports.map(async (port) => ask(`${ownUrl(config.host, port)}/readyz`)),
  );
  if (json) say(JSON.stringify(answers));
  else for (const { url, text: told } of answers) say(`${url}: ${told}`);
  return answers.some(({ is_ready }) => is_ready) ? 0 : 1;
}

async function ask(url: string): Promise<{ url: string; text: string; is_ready: boolean }> {
  try {
    const request = get(url, { signal: AbortSignal.timeout(answer_ms) });
    const [answer] = (await once(request, 'response')) as [IncomingMessage];
    const { statusCode = 0 } = answer;
    return { url, text: `${statusCode} ${await text(answer)}`, is_ready: statusCode === 200 };
  } catch (error) {
    const { message, code = message } = error as NodeJS.ErrnoException;
    return { url, text: `no answer (${code})`, is_ready: false };
  }
}
