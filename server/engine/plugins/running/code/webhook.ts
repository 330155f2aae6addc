import { Type } from 'typebox';
import { OutboundRefused, ProxyFault } from '../../../../platform/outbound/outbound_faults.ts';
import { shapeOf } from '../../../../platform/shape.ts';
import { PluginCallError } from '../../sandbox/fault.ts';
import { answerOf, openNotedFetches } from '../../sandbox/network/noted_fetches.ts';
import type { NotedFetches } from '../../sandbox/network/noted_fetches.ts';
import {
  HostNotAllowed,
  HostNotFound,
  fetchForPlugin,
} from '../../sandbox/network/plugin_fetch.ts';
import type { PluginResponse } from '../../sandbox/network/plugin_fetch.ts';
import { outcomeOfResponse } from '../../sandbox/response_outcome.ts';
import type { ToolOutcome } from '../../sandbox/tool_outcome.ts';
import type { LoadedConfig } from '../loaded_plugin.ts';
import { HostNeededError } from '../needed_hosts.ts';
import type { Running } from '../running.ts';

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
/** The values that `fetch` accepts; it converts others to text. */
const header_value = Type.Union([
  Type.String({ maxLength: 32_768 }),
  Type.Number(),
  Type.Boolean(),
]);

const webhook = shapeOf(
  Type.Object({
    url: Type.String({ maxLength: 8_192 }),
    method: Type.Optional(
      Type.String({ enum: methods.flatMap((one) => [one, one.toLowerCase()]) }),
    ),
    headers: Type.Optional(Type.Record(Type.String(), header_value, { maxProperties: 100 })),
    body: Type.Optional(Type.Unknown()),
  }),
);

/**
 * Sends the request of `composeWebhook` (null: none), through the guard and only to allowed hosts,
 * and judges the answer. Throws a PluginCallError without an answer; `is_retry` if a retry may
 * help: not for an unneeded host that does not exist. Throws a HostNeededError if the host is
 * needed but not allowed.
 */
export async function sendWebhook(
  outbound: Pick<Running['outbound'], 'fetch'>,
  { allowed_hosts, needsHost }: Pick<LoadedConfig, 'allowed_hosts' | 'needsHost'>,
  composed: unknown,
  signal: AbortSignal,
  noted: NotedFetches = openNotedFetches(),
): Promise<ToolOutcome> {
  if (composed === null) return { kind: 'skipped' };
  if (!webhook.is(composed))
    throw fault(
      'composeWebhook must give {url, method, headers, body} or null; method is an HTTP ' +
        'method, headers an object of texts.',
      false,
    );
  const { url, method = 'POST', headers = {}, body } = composed;
  const hasType = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type');
  const text =
    body === undefined || body === null
      ? null
      : typeof body === 'string'
        ? body
        : JSON.stringify(body);
  const request = {
    url,
    method: method.toUpperCase(),
    headers: [
      ...Object.entries(headers).map(([name, value]) => [name, String(value)]),
      ...(hasType || text === null
        ? []
        : [['content-type', 'application/json'] as [string, string]]),
    ] as [string, string][],
    body: text === null ? null : Buffer.from(text).toString('base64'),
  };
  const exchange = noted.add(request, true);
  let response: PluginResponse;
  try {
    response = await fetchForPlugin(outbound, allowed_hosts, request, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof HostNotAllowed && needsHost(error.hostname))
      throw new HostNeededError(error.hostname);
    const failure = failureOf(error as Error, needsHost);
    exchange.error = failure.message;
    throw failure;
  }
  exchange.answer = answerOf(response);
  const outcome = outcomeOfResponse(response, 'The receiver refused the webhook');
  return { ...outcome, exchanges: noted.exchanges() };
}

function failureOf(error: Error, needsHost: LoadedConfig['needsHost']): PluginCallError {
  if (error instanceof HostNotFound && !needsHost(error.hostname))
    return fault(`${error.message} Only data given to the plugin names it.`, false);
  if (error instanceof ProxyFault) return fault(error.message, error.code === 'proxy_failed');
  // undici throws a TypeError with a cause for the network, and without one for an invalid request.
  const isRefused =
    error instanceof OutboundRefused ||
    error instanceof RangeError ||
    (error instanceof TypeError && error.cause === undefined);
  if (isRefused) return fault(error.message, false);
  const { code } = (error.cause ?? {}) as { code?: unknown };
  const why = typeof code === 'string' ? ` (${code})` : '';
  return fault(`The webhook was not answered${why}.`, true);
}

function fault(message: string, is_retry: boolean): PluginCallError {
  return new PluginCallError('runtime', message, is_retry);
}
