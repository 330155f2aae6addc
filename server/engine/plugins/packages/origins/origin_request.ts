import type { Headers } from 'undici';
import {
  DownloadTooLarge,
  DownloadTooSlow,
  download,
} from '../../../../platform/outbound/download.ts';
import type { Logger } from '../../../../platform/log.ts';
import { OutboundRefused, ProxyFault } from '../../../../platform/outbound/outbound_faults.ts';
import type { Outbound } from '../../../../platform/outbound/outbound.ts';
import { PluginError } from '../../plugin.ts';
import { package_limits, showBytes } from '../limits.ts';

/** The parts that requests to origins use. `download_seconds` bounds each of them; default 60. */
export type RequestDeps = { outbound: Outbound; log: Logger; download_seconds?: number };

/**
 * One request to an origin. `origin` names it in sentences ("GitHub"), `thing` the requested object
 * ("the repository acme/plugin"). The token is only sent to this origin.
 */
export type OriginRequest = {
  origin: string;
  thing: string;
  url: URL;
  accept?: string;
  token?: string | undefined;
};

const seconds_default = 60;

/**
 * Returns the body of an origin's answer. Guarantee: at most 20 MiB, within the time limit, from
 * addresses that the guard allows. Everything else is a `PluginError` with a sentence for the user:
 * `not_found`, `refused` (guard, credentials), `too_large`, `timeout`, `unreachable` (network, rate
 * limits, faults of the origin). Neither the error nor the log contains the token or the URL's
 * query.
 */
export async function requestOrigin(
  deps: RequestDeps,
  request: OriginRequest,
  signal: AbortSignal,
): Promise<Buffer> {
  const headers: Record<string, string> = {
    'user-agent': 'sluice',
    accept: request.accept ?? '*/*',
  };
  if (request.token !== undefined) headers['authorization'] = `Bearer ${request.token}`;
  const seconds_max = deps.download_seconds ?? seconds_default;
  try {
    const answer = await download(deps.outbound, request.url, {
      headers,
      size_bytes_max: package_limits.packed_bytes_max,
      seconds_max,
      signal,
    });
    const fault = statusFault(request, answer.status, answer.headers);
    if (fault !== undefined) throw fault;
    return answer.body;
  } catch (error) {
    if (signal.aborted) throw error;
    const fault = error instanceof PluginError ? error : networkFault(request, error);
    deps.log.info(
      { origin: request.origin, host: request.url.host, code: fault.code, err: fault.cause },
      fault.message,
    );
    throw fault;
  }
}

/** Returns an answer that must be JSON; any other answer is a fault of the origin. */
export async function requestJson(
  deps: RequestDeps,
  request: OriginRequest,
  signal: AbortSignal,
): Promise<unknown> {
  const body = await requestOrigin(deps, { accept: 'application/json', ...request }, signal);
  try {
    return JSON.parse(body.toString('utf8'));
  } catch (error) {
    throw unreadable(request.origin, error);
  }
}

/** Returns the fault for an answer that breaks the origin's API. */
export function unreadable(origin: string, cause?: unknown): PluginError {
  return new PluginError(
    'unreachable',
    `${origin} sent an unexpected answer. Try again later. If it happens again, the ` +
      'operator should check its configured address.',
    { cause },
  );
}

function statusFault(
  { origin, thing, token }: OriginRequest,
  status: number,
  headers: Headers,
): PluginError | undefined {
  if (status >= 200 && status < 300) return undefined;
  const isLimited =
    status === 429 ||
    (status === 403 &&
      (headers.get('x-ratelimit-remaining') === '0' || headers.has('retry-after')));
  if (isLimited)
    return new PluginError(
      'unreachable',
      `${origin} refuses further requests for now. Try again later, or give a token, which has ` +
        'a higher limit.',
    );
  const advice =
    token === undefined
      ? 'If it is private, give a token that may read it.'
      : 'The token may not be allowed to read it.';
  if (status === 401 || status === 403)
    return new PluginError('refused', `${origin} refuses access to ${thing}. ${advice}`);
  if (status === 404 || status === 410)
    return new PluginError(
      'not_found',
      `${origin} does not have ${thing}. Check the address. ${advice}`,
    );
  return new PluginError(
    'unreachable',
    `${origin} answered with status ${status}. Try again later.`,
  );
}

function networkFault({ origin, url, thing }: OriginRequest, error: unknown): PluginError {
  if (error instanceof DownloadTooLarge)
    return new PluginError(
      'too_large',
      `${origin} sends more than ${showBytes(error.size_bytes_max)} for ${thing}. Leave out ` +
        'what the plugin does not need to run.',
    );
  if (error instanceof DownloadTooSlow)
    return new PluginError(
      'timeout',
      `${origin} did not deliver ${thing} in time. Try again later.`,
      { cause: error },
    );
  if (error instanceof OutboundRefused)
    return new PluginError('refused', error.message, { cause: error });
  if (error instanceof ProxyFault)
    return new PluginError('unreachable', error.message, { cause: error });
  return new PluginError(
    'unreachable',
    `${origin} cannot be reached at ${url.host}. Check the address and try again later.`,
    { cause: error },
  );
}
