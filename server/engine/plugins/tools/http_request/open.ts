import { PluginCallError } from '../../sandbox/fault.ts';
import { serveRequest } from '../../sandbox/host_services.ts';
import type { HostApi } from '../../sandbox/host_services.ts';
import { noteFetch } from '../../sandbox/network/noted_fetches.ts';
import type { PluginRequest, PluginResponse } from '../../sandbox/network/plugin_fetch.ts';
import { outcomeOfResponse } from '../../sandbox/response_outcome.ts';
import type { LoadedPlugin } from '../../sandbox/sandbox.ts';
import type { ToolExchange, ToolOutcome } from '../../sandbox/tool_outcome.ts';
import { MappingFault } from '../resolve.ts';
import type { ToolMapping } from '../tool.ts';
import { composeRequest } from './compose.ts';
import type { ComposedRequest } from './compose.ts';

type Sending = {
  event: { messageId: string };
  settings: Record<string, string>;
  mapping: ToolMapping;
};

/**
 * Opens the tool that sends requests. It is our own code, so it runs in the worker; its requests
 * pass `allowed_hosts` and the outbound guard like those of plugins.
 */
export function openHttpRequest(host_api: Omit<HostApi, 'signal'>): LoadedPlugin {
  const send = async ({ event, settings, mapping }: Sending, signal: AbortSignal) => {
    let request: ComposedRequest;
    try {
      request = composeRequest(event, mapping.mapping, settings, host_api.now());
    } catch (error) {
      if (!(error instanceof MappingFault)) throw error;
      return refused(error.message);
    }
    return ask({ ...host_api, signal }, request);
  };
  return {
    capabilities: { methods: ['send'], jobs: [], scheduled_tasks: [] },
    call: async (method, payload, signal): Promise<ToolOutcome> => {
      if (method === 'send') return send(payload as Sending, signal);
      // Only a mapping's request reaches anybody, so settings and deletions cannot be checked.
      return { kind: method === 'test' ? 'sent' : 'skipped' };
    },
    close: async () => {},
  };
}

/** Sends a request; throws a PluginCallError if the server refuses it. */
async function ask(host_api: HostApi, { body, ...request }: ComposedRequest): Promise<ToolOutcome> {
  const sent = {
    ...request,
    headers: [
      ['user-agent', 'Sluice'],
      ...request.headers.filter(([name]) => name !== 'user-agent'),
    ],
    body: body === null ? null : Buffer.from(body).toString('base64'),
  };
  const exchanges: ToolExchange[] = [];
  const note = (request: PluginRequest) => noteFetch(exchanges, request);
  return { ...(await outcomeOf({ ...host_api, note }, sent)), exchanges };
}

async function outcomeOf(host_api: HostApi, sent: object): Promise<ToolOutcome> {
  const { is_ok, text } = await serveRequest(host_api, 'fetch', JSON.stringify([sent]));
  host_api.signal.throwIfAborted();
  if (!is_ok) {
    const { name, message } = JSON.parse(text) as { name: string; message: string };
    // The request may have arrived: a retry has the same key.
    if (name === 'FetchError')
      return { kind: 'retry', status: null, reason: message, retry_after: null };
    throw new PluginCallError('runtime', message, false);
  }
  return outcomeOfResponse(JSON.parse(text) as PluginResponse, 'The receiver refused it');
}

function refused(reason: string): ToolOutcome {
  return { kind: 'refused', status: null, reason, retry_after: null };
}
