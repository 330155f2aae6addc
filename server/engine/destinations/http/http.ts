import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { systemClock } from '../../../platform/clock.ts';
import { tryOut } from '../../model/destination/try_out.ts';
import { urlHost } from '../../../platform/outbound/url_host.ts';
import { throwIfStopped } from '../../model/destination/stop.ts';
import type {
  CheckStep,
  DeliveredSlices,
  DestinationDefinition,
  DestinationDeps,
} from '../../model/destination/destination.ts';
import type { Difference } from '../../model/destination/difference.ts';
import { bodyOf } from './bodies.ts';
import { http_config, httpViolations } from './config.ts';
import type { HttpConfig } from './config.ts';
import { openEndpoint } from './endpoint.ts';
import type { Endpoint } from './endpoint.ts';
import { httpError } from './faults.ts';
import { showRequest } from './show.ts';
import { openHttpSink } from './sink.ts';
import { counted } from '../../../platform/counted.ts';

/** Bytes that are sent again if a worker dies in the middle of a slice. */
const slice_bytes = 50_000_000;

/**
 * Any endpoint that accepts rows as JSON over HTTP; at least once, with a key by which it
 * recognizes a repeated request.
 */
export const http: DestinationDefinition<typeof http_config> = {
  type: 'HTTP',
  label: 'HTTP endpoint',
  config: http_config,
  secrets: ['token', 'headers', 'signing_secret'],
  where: ['url'],
  connection: ['url', 'token', 'headers', 'signing_secret'],
  connection_steps: 2,
  host: ({ url }) => urlHost(url),
  column_set: 'files',
  shows_as_written: true,
  not_verifiable:
    'This destination cannot return delivered rows, so Sluice cannot compare them. The receipts ' +
    'prove what was handed over.',
  validate: httpViolations,
  encoding: () => ({ format: 'JSONLines', compression: null }),
  showRequest,
  sliceBytes: () => slice_bytes,
  slices_are_rough: true,
  open: async (config, delivery, deps) => {
    throwIfStopped(deps.signal);
    return openHttpSink(config, delivery, endpointOf(config, deps));
  },
  check: (config, _columns, deps) => check(config, deps),
  verify: async (config, delivered) => unreadable(config, delivered),
};

function endpointOf(config: HttpConfig, deps: DestinationDeps): Endpoint {
  const wait = (milliseconds: number, signal: AbortSignal) =>
    pause(milliseconds, undefined, { signal });
  return openEndpoint(config, { ...deps, clock: systemClock, pause: wait });
}

/** Answers of many endpoints to a request without rows, after they have accepted its sender. */
const refusals_of_nothing = [400, 411, 422];

function check(config: HttpConfig, deps: DestinationDeps): Promise<CheckStep[]> {
  const steps = [
    {
      name: 'Find the host',
      run: async () => {
        await deps.outbound.resolveHost(new URL(config.url).hostname);
        return 'The server may connect to the address of the host.';
      },
    },
    {
      name: 'Send a request without rows',
      run: async () => {
        const { status, error } = await endpointOf(config, deps).probe(
          `check-${randomUUID()}`,
          bodyOf(config, []),
        );
        if (refusals_of_nothing.includes(status))
          return (
            `The endpoint let us in and answered ${status} to a request without rows, as many ` +
            'do.'
          );
        if (error !== undefined) throw error;
        return `The endpoint answered ${status}.`;
      },
    },
  ];
  return tryOut(steps, deps, httpError, 'The endpoint refused it.');
}

/** Nothing can be compared, and the result says so. */
function unreadable(config: HttpConfig, delivered: DeliveredSlices[]): Difference[] {
  if (delivered.length === 0) return [];
  const detail =
    'An HTTP endpoint cannot be read again. It acknowledged ' +
    `${counted(delivered.length, 'delivery')}.`;
  return [{ kind: 'unreadable', name: new URL(config.url).host, detail }];
}
