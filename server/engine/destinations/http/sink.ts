import type { Delivery, Sink } from '../../model/destination/destination.ts';
import { handOver } from '../../model/destination/hand_over.ts';
import { bodiesOf } from './bodies.ts';
import type { Body } from './bodies.ts';
import type { HttpConfig } from './config.ts';
import type { Endpoint } from './endpoint.ts';

/**
 * Opens a delivery to an endpoint. Sent rows are visible at once and cannot be revoked, so `commit`
 * and `abort` do nothing. A slice is finished once all its requests are acknowledged; the next
 * attempt does not send it again. An interrupted slice is sent again from its beginning, with the
 * same keys.
 */
export function openHttpSink(config: HttpConfig, delivery: Delivery, endpoint: Endpoint): Sink {
  const name = new URL(config.url).host;
  return {
    isCommitted: async () => false,
    recover: async (outcomes) => outcomes,
    write: async (slice, bytes) => {
      let requests = 0;
      try {
        await handOver(bodiesOf(config, bytes), (body) => {
          const id = requestId(delivery, slice.number, requests, body);
          requests += 1;
          return endpoint.send(id, body);
        });
      } finally {
        bytes.destroy();
      }
      return { name, state: { requests } };
    },
    commit: async () => undefined,
    abort: async () => undefined,
    close: async () => undefined,
  };
}

/**
 * The id is the same for every attempt with the same request limits. Other limits divide the rows
 * differently, and the digest then keeps the endpoint from mistaking a request for a known one.
 */
function requestId(delivery: Delivery, slice: number, request: number, body: Body): string {
  return `${delivery.delivery_id}-${slice}-${request}-${body.digest}`;
}
