import { createClient } from '@clickhouse/client';
import { inSpan } from '../tracing/span.ts';
import { joinReplicas } from './topology/replicas.ts';
import type { Client, ReplicaOptions, Replicas } from './topology/replicas.ts';

/** The official client of the analytics store, for all of its addresses; one object per process. */
export type ClickHouse = Replicas;

/**
 * Opens the client for a ClickHouse HTTP URL (`http://user:password@host:port/database`), or for
 * several, separated by commas, which are replicas of one store, possibly of the cluster of this
 * name. The client treats the store as one node until its mode is known. Guarantee: query results
 * pass through uncompressed and undecoded, byte for byte, and an idle socket that the store closed
 * is never reused. In a trace, a query is a span that ends when the answer begins; it omits the
 * text, which may belong to a tenant.
 */
export function openClickHouse(
  urls: string,
  options: ReplicaOptions & { application: string },
): ClickHouse {
  const clients = addressesOf(urls).map((url) => openAddress(url, options));
  return joinReplicas(clients, options);
}

/** Returns the addresses of a setting that may name several. */
export function addressesOf(urls: string): string[] {
  return urls.split(',').map((url) => url.trim());
}

function openAddress(url: string, options: { application: string }): Client {
  const client = createClient({
    url,
    application: options.application,
    request_timeout: 24 * 3_600_000,
    max_open_connections: 64,
    // Node's own agent closes an idle socket a second before the store does, by the store's
    // Keep-Alive header. The client's timer must stay off: if a request was aborted while it got
    // its socket, the timer ends that socket two seconds later, whoever uses it then.
    keep_alive: { enabled: true, idle_socket_ttl: 0 },
    compression: { request: false, response: false },
    clickhouse_settings: {
      date_time_output_format: 'iso',
      output_format_json_quote_64bit_integers: 0,
    },
    log: { level: 127 },
  });
  for (const operation of ['query', 'exec', 'insert', 'command'] as const)
    traced(client, operation);
  return client;
}

function traced(client: Client, operation: 'query' | 'exec' | 'insert' | 'command'): void {
  const ask = client[operation].bind(client) as (params: unknown) => Promise<unknown>;
  const attributes = { 'db.system.name': 'clickhouse', 'db.operation.name': operation };
  Object.assign(client, {
    [operation]: (params: unknown) =>
      inSpan(`ClickHouse ${operation}`, attributes, () => ask(params), 3),
  });
}
