import type { PluginResponse } from './network/plugin_fetch.ts';
import { outcomeOfStatus, said } from './tool_child/outcome.ts';
import type { ToolOutcome } from './tool_outcome.ts';

const text_length_max = 2_000;

/** Judges the answer to a request for an event; `refused` begins the reason. */
export function outcomeOfResponse(
  { status, headers, body }: PluginResponse,
  refused: string,
): ToolOutcome {
  if (status >= 200 && status < 300) return { kind: 'sent' };
  const seen = {
    status,
    text: Buffer.from(body, 'base64').subarray(0, text_length_max).toString('utf8'),
    retry_after: headers.find(([name]) => name === 'retry-after')?.[1],
  };
  return outcomeOfStatus(status, said(refused, seen), seen);
}
