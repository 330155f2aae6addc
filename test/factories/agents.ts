import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Harness } from '../harness.ts';

/** The answer of a tool: its data, and the text for a model. */
export type ToolAnswer = { is_error: boolean; data: any; text: string };

/** An agent with the official client; `transcript` has every message in both directions. */
export type Agent = {
  client: Client;
  transcript: string[];
  /** The names of the tools that the server offers it. */
  toolNames(): Promise<string[]>;
  call(name: string, args?: Record<string, unknown>): Promise<ToolAnswer>;
  close(): Promise<void>;
};

/** The protocol's revisions that clients speak: the ones before 2026, and 2026-07-28. */
export const protocol_modes = ['legacy', 'auto'] as const;

/** The official client as an agent, over the transport; `transcript` is its record. */
export async function openAgent(
  transport: Parameters<Client['connect']>[0],
  transcript: string[],
  mode: (typeof protocol_modes)[number] = 'legacy',
): Promise<Agent> {
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } });
  await client.connect(transport);
  return {
    client,
    transcript,
    toolNames: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args = {}) => {
      const answer = await client.callTool({ name, arguments: args });
      const [content] = answer.content as { text: string }[];
      return {
        is_error: answer.isError === true,
        data: answer.structuredContent,
        text: content!.text,
      };
    },
    close: () => client.close(),
  };
}

/**
 * Opens an agent with the key at `/mcp` of the server; all of its requests go through the harness.
 */
export function agentOf(
  harness: Harness,
  key: string,
  mode: (typeof protocol_modes)[number] = 'legacy',
): Promise<Agent> {
  const transcript: string[] = [];
  const transport = new StreamableHTTPClientTransport(new URL('http://127.0.0.1:8000/mcp'), {
    requestInit: { headers: { authorization: `Bearer ${key}` } },
    fetch: async (_url, init = {}) => {
      const body = typeof init.body === 'string' ? init.body : undefined;
      const answer = await harness.request(init.method ?? 'GET', '/mcp', {
        headers: Object.fromEntries(new Headers(init.headers)),
        body,
      });
      transcript.push(body ?? '', answer.text);
      const headers = Object.entries(answer.headers).filter((one) => typeof one[1] === 'string');
      return new Response(answer.text === '' ? null : answer.text, {
        status: answer.status,
        headers: Object.fromEntries(headers) as Record<string, string>,
      });
    },
  });
  return openAgent(transport, transcript, mode);
}
