import type { Readable, Writable } from 'node:stream';
import { request } from 'undici';
import { createAgentServer } from '../api/mcp/agent_server.ts';
import { UnreachableError, urlOf } from '../api/mcp/api_call.ts';
import type { ApiCall } from '../api/mcp/api_call.ts';
import { agent_header } from '../platform/http/caller/agent.ts';
import { version } from '../platform/version.ts';
import { messageLines } from './agent_lines.ts';
import { getTarget } from './client/target.ts';
import type { TargetFlags } from './client/target.ts';
import type { CommandContext } from './command_context.ts';
import { stopSignal } from './process/stop_signal.ts';
import { readBounded } from '../platform/read_bounded.ts';
import { parseJson } from '../platform/json/parse_json.ts';

const headers_timeout_ms = 60_000;
/** Largest answer that is read; answers to tools are far smaller. */
const answer_size_bytes_max = 16 * 1024 * 1024;

/** Input and output of the agent, and a signal that ends serving. */
type AgentSide = { input: Readable; output: Writable; stopped(): Promise<unknown> };

/**
 * `sluice mcp`: serves an agent on standard input and output, with the tools that the key can use
 * at the server. Ends when the agent closes its side, or by a signal. Standard output contains only
 * the protocol.
 */
export async function mcp(
  { log }: Pick<CommandContext, 'log'>,
  flags: TargetFlags,
  { input, output, stopped }: AgentSide = {
    input: process.stdin,
    output: process.stdout,
    stopped: stopSignal,
  },
): Promise<number> {
  const { address: url, key } = getTarget(flags);
  const library = await import('@modelcontextprotocol/server');
  const { StdioServerTransport, serveStdio } = await import('@modelcontextprotocol/server/stdio');
  const context = {
    api: callsTo(url, key),
    console_url: url,
    onFault: (error: unknown) => log.error({ err: error }, 'a tool failed'),
  };
  const lines = input.pipe(messageLines(library.isSpecType.JSONRPCMessage, output));
  const transport = new StdioServerTransport(lines, output);
  const ended = new Promise<void>((resolve) => input.once('close', resolve));
  const served = serveStdio(() => createAgentServer(library, context), {
    transport,
    maxSubscriptions: 0,
    onerror: (error) => log.warn({ err: error }, 'a message of the agent was refused'),
  });
  await Promise.race([ended, stopped()]);
  await served.close();
  return 0;
}

const tooLarge = () => new UnreachableError('The answer of the server is too large to read.');

/** Opens the API of the server at the address, with the key. */
function callsTo(url: string, key: string): ApiCall {
  return async (asked) => {
    try {
      const answer = await request(`${url}${urlOf(asked)}`, {
        method: asked.method,
        headers: {
          authorization: `Bearer ${key}`,
          accept: 'application/json',
          'user-agent': `sluice-mcp/${version}`,
          [agent_header]: 'mcp',
          ...(asked.body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        headersTimeout: headers_timeout_ms,
        bodyTimeout: headers_timeout_ms,
        ...(asked.body === undefined ? {} : { body: JSON.stringify(asked.body) }),
      });
      const bytes = await readBounded(answer.body, answer_size_bytes_max, tooLarge);
      const body = parseJson(bytes.toString());
      if (body === undefined)
        throw new UnreachableError(
          `${url} answered ${answer.statusCode}, but not like Sluice: is it the address of a ` +
            'Sluice server?',
        );
      return { status: answer.statusCode, body };
    } catch (error) {
      if (error instanceof UnreachableError) throw error;
      throw new UnreachableError(
        `The server at ${url} cannot be reached, or its answer was cut off.`,
      );
    }
  };
}
