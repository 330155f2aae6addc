import { ownUrl } from '../config/public_url.ts';
import type { CommandContext } from './command_context.ts';

const answer_ms = 5_000;

/**
 * `sluice health`: asks the process of this machine, server or worker, whether it is ready. Exit
 * code 0: one of them is. For health checks of images and supervisors.
 */
export async function health({ config, say }: CommandContext): Promise<number> {
  const ports = [config.port, config.worker_port].filter((port) => port !== undefined);
  const answers = await Promise.all(
    ports.map(async (port) => ask(`${ownUrl(config.host, port)}/readyz`)),
  );
  for (const { url, text } of answers) say(`${url}: ${text}`);
  return answers.some(({ is_ready }) => is_ready) ? 0 : 1;
}

async function ask(url: string): Promise<{ url: string; text: string; is_ready: boolean }> {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(answer_ms) });
    return { url, text: `${answer.status} ${await answer.text()}`, is_ready: answer.ok };
  } catch (error) {
    const { message, cause } = error as Error;
    const why = (cause as { code?: string } | undefined)?.code ?? message;
    return { url, text: `no answer (${why})`, is_ready: false };
  }
}
