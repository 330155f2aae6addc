import { openHttpReceiver } from '../servers/http_receiver.ts';
import type { Answer, HttpReceiver } from '../servers/http_receiver.ts';
import type { Ending, FaultCase, OpenFaults, Scene } from './matrix.ts';
import { eventually } from '../eventually.ts';
import { impatient } from './matrix.ts';

/** Number of times that one attempt sends a request. */
const tries = 5;
// No pause between the attempts.
const at_once = { 'retry-after': '0' };

/** Faults of HTTP endpoints, on a receiver that is closed with `close`. */
export async function openEndpointFaults(): Promise<OpenFaults> {
  const receiver = await openHttpReceiver({ token: 'right' });
  const cases: FaultCase[] = [
    ...refusals(receiver),
    configured(receiver, 'the wrong token', 'authentication_failed', {
      url: `${receiver.url}/guarded`,
      token: 'wrong',
    }),
    configured(receiver, 'nothing at the address', 'endpoint_missing', {
      url: `${receiver.url}/nothing`,
    }),
    configured(receiver, 'an address that is not public', 'outbound_refused', {
      url: 'https://10.0.0.1/',
    }),
    hanging(receiver),
    impatient('HTTP', async () => place(receiver, { strike: async () => receiver.plan('hang') })),
  ];
  return { cases, close: () => receiver.close() };
}

/** Returns refusals of the endpoint that last for the requests of one attempt. */
function refusals(receiver: HttpReceiver): FaultCase[] {
  const answered = (
    fault: string,
    status: number,
    code: string,
    ending: Ending,
    headers: Record<string, string> = at_once,
  ): FaultCase => ({
    destination: 'HTTP',
    fault,
    code,
    ending,
    prepare: async () =>
      place(receiver, {
        strike: async () =>
          receiver.plan(
            ...Array.from({ length: tries }, (): Answer => ({ status, headers, body: 'No.' })),
          ),
      }),
  });
  return [
    answered('400 Bad Request', 400, 'request_refused', 'Failed'),
    answered('403 Forbidden', 403, 'permission_denied', 'Failed'),
    answered('410 Gone', 410, 'endpoint_missing', 'Failed'),
    answered('413 Content Too Large', 413, 'request_too_large', 'Failed'),
    answered('a redirect', 307, 'redirect_refused', 'Failed', { location: '/elsewhere' }),
    answered('429 with a Retry-After of two minutes', 429, 'throttled', 'tried again', {
      'retry-after': '120',
    }),
    answered('500 five times', 500, 'store_fault', 'tried again'),
    answered('503 at the last of all attempts', 503, 'store_fault', 'FailedRetryable'),
  ];
}

/** Only another config helps. */
function configured(
  receiver: HttpReceiver,
  fault: string,
  code: string,
  config: Record<string, unknown>,
): FaultCase {
  const prepare = async (): Promise<Scene> => ({
    ...place(receiver, {}),
    config,
    is_lasting: true,
  });
  return { destination: 'HTTP', fault, code, ending: 'Failed', prepare };
}

function hanging(receiver: HttpReceiver): FaultCase {
  const prepare = async (): Promise<Scene> => {
    let asked = false;
    return place(receiver, {
      strike: async () => {
        receiver.onRequest(() => (asked = true));
        receiver.plan('hang');
      },
      meanwhile: async () => {
        await eventually('it has never come to the fault', () => asked);
        return 'cancelled';
      },
    });
  };
  return {
    destination: 'HTTP',
    fault: 'it hangs, and the run is cancelled',
    code: 'cancelled',
    ending: 'Cancelled',
    prepare,
  };
}

let places = 0;

function place(receiver: HttpReceiver, changes: Partial<Scene>): Scene {
  const path = `/place-${(places += 1)}`;
  return {
    config: { url: `${receiver.url}${path}` },
    visible: async () => receiver.taken(path).length,
    lift: async () => {
      receiver.plan();
      receiver.onRequest(() => undefined);
    },
    ...changes,
  };
}
