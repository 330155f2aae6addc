import type { IncomingHttpHeaders } from 'node:http';
import type { Logger } from '../../platform/log.ts';
import { createAgentServer } from './agent_server.ts';
import type { ToolContext } from './tool.ts';

/** One message of the protocol and its answer, with a status as streamable HTTP has it. */
export type Exchange = (
  message: unknown,
  headers: IncomingHttpHeaders,
  context: ToolContext,
) => Promise<Response>;

/** The library's idea of its own address; nothing is sent there. */
const here = 'http://127.0.0.1/mcp';

/**
 * Loads the protocol's library (a fifth of a second, once for a process) and gives what answers a
 * message. Each is answered by a server of its own that knows its caller alone, in one JSON text:
 * those of 2026-07-28 and those before it.
 */
export async function openExchange(log: Logger): Promise<Exchange> {
  const library = await import('@modelcontextprotocol/server');
  const { WebStandardStreamableHTTPServerTransport, createMcpHandler, isLegacyRequest } = library;
  return async (message, headers, context) => {
    const request = new Request(here, {
      method: 'POST',
      headers: headersOf(headers),
      body: JSON.stringify(message),
    });
    const onerror = (error: Error) =>
      log.debug({ err: error }, 'a message of an agent was refused');
    if (await isLegacyRequest(request, message)) {
      const server = createAgentServer(library, context);
      const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
      await server.connect(transport);
      try {
        return await transport.handleRequest(request, { parsedBody: message });
      } finally {
        await server.close();
      }
    }
    const handler = createMcpHandler(() => createAgentServer(library, context), {
      legacy: 'reject',
      // Nothing is told later: a stream would only hold a connection.
      maxSubscriptions: 0,
      onerror,
    });
    return handler.fetch(request, { parsedBody: message });
  };
}

/** Returns the headers that the protocol reads. The form of the answer is ours to decide. */
function headersOf(headers: IncomingHttpHeaders): Record<string, string> {
  const of_protocol = Object.entries(headers).filter(
    (entry): entry is [string, string] =>
      entry[0].startsWith('mcp-') && typeof entry[1] === 'string',
  );
  return {
    ...Object.fromEntries(of_protocol),
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
  };
}
