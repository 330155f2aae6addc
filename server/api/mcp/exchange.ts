import type { IncomingHttpHeaders } from 'node:http';
import type { Logger } from '../../platform/log.ts';
import { createAgentServer } from './agent_server.ts';
import type { ToolContext } from './tool.ts';

/** Answers one message of the protocol, with a status of streamable HTTP. */
export type Exchange = (
  message: unknown,
  headers: IncomingHttpHeaders,
  context: ToolContext,
) => Promise<Response>;

/** The library's own address; no request goes there. */
const here = 'http://127.0.0.1/mcp';

/**
 * Loads the protocol's library (a fifth of a second, once per process) and returns the function
 * that answers messages. A new server that only knows its caller answers each message, in one JSON
 * text. It supports the protocol of 2026-07-28 and earlier versions.
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
      // No later messages follow, so a stream would only occupy a connection.
      maxSubscriptions: 0,
      onerror,
    });
    return handler.fetch(request, { parsedBody: message });
  };
}

/** Returns the headers that the protocol reads. Sluice decides the form of the answer. */
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
