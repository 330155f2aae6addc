import type { PluginTryOutResult } from '../../../server/api/plugin_configs/try_out/schema.ts';

/** The result of a trial: a word with its colour, and a sentence. */
export type Outcome = { word: string; tone: 'good' | 'bad' | 'warn'; said: string };

/** Returns the result of a trial in words. */
export function outcomeOf({ calls, requests, refused_hosts }: PluginTryOutResult): Outcome {
  const failed = calls.find(({ error }) => error !== null);
  if (failed?.error !== undefined && failed.error !== null) {
    const { message, is_retry, file, line, column } = failed.error;
    const place = file === null ? '' : ` (${[file, line, column].filter(isThere).join(':')})`;
    const said = `${failed.method}: ${message}${place}`;
    if (refused_hosts.length > 0)
      return { word: '◐ Would wait for an allowed host', tone: 'warn', said };
    return is_retry
      ? { word: '◐ Would retry', tone: 'warn', said }
      : { word: '✕ Failed', tone: 'bad', said };
  }
  const last = calls.at(-1);
  if (last?.method === 'processEvent' && last.result === 'null')
    return { word: '✓ Dropped', tone: 'good', said: 'processEvent dropped the event.' };
  const milliseconds = calls.reduce((sum, one) => sum + one.milliseconds, 0);
  const said = [
    `${calls.map(({ method }) => method).join(', ')} ended after ${milliseconds} ms.`,
    requestsSaid(requests),
  ];
  return { word: '✓ Worked', tone: 'good', said: said.join(' ') };
}

const isThere = (part: string | number | null) => part !== null;

function requestsSaid(requests: PluginTryOutResult['requests']): string {
  if (requests.length === 0) return 'It made no request.';
  const [made, them] =
    requests.length === 1 ? ['1 request', 'it'] : [`${requests.length} requests`, 'them'];
  const is_sent = requests.some((request) => request.is_sent);
  return is_sent ? `It made ${made}.` : `It made ${made}. Sluice did not send ${them}.`;
}
