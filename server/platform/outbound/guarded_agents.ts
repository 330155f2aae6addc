import type http from 'node:http';
import https from 'node:https';
import { Socket } from 'node:net';
import type { LookupFunction } from 'node:net';
import { Agent, buildConnector } from 'undici';
import { OutboundRefused } from './outbound_faults.ts';

/**
 * The ways to make guarded connections. A direct one follows a check of literal addresses, for
 * which Node calls no `lookup`. The other one uses the socket of a proxy, which is undefined for
 * addresses that need none. `throughProxy` itself is undefined for protocols without a proxy.
 */
export type Guard = {
  checkLiteral(host: string): void;
  lookup: LookupFunction;
  throughProxy: Partial<
    Record<string, (host: string, port: number) => Promise<Socket | undefined>>
  >;
};

const connect_timeout_milliseconds = 10_000;
const usual_ports: Record<string, number> = { 'http:': 80, 'https:': 443 };

type Create = (
  options: http.ClientRequestArgs & { socket?: Socket },
  callback?: (error: Error | null, stream: Socket) => void,
) => Socket | null | undefined;

/** Returns an agent for libraries built on `node:http`; the guard checks its every connection. */
export function guardedAgent<Guarded extends http.Agent>(agent: Guarded, guard: Guard): Guarded {
  const protocol = agent instanceof https.Agent ? 'https:' : 'http:';
  const create = agent.createConnection.bind(agent) as Create;
  const throughProxy = guard.throughProxy[protocol];
  const createGuarded: Create = (options, callback) => {
    const host = options.host ?? 'localhost';
    const direct = () => create({ ...options, lookup: guard.lookup }, callback);
    // Passed like any connection error: thrown at once, it would leave timers of the AWS SDK
    // behind.
    const fail = (error: unknown) => callback?.(error as Error, new Socket());
    try {
      if (typeof options.socketPath === 'string')
        throw new OutboundRefused('Connections to a local socket are refused.');
      guard.checkLiteral(host);
    } catch (error) {
      process.nextTick(fail, error);
      return undefined;
    }
    if (throughProxy === undefined) return direct();
    const give = (socket: Socket | undefined) => {
      const opened =
        socket === undefined
          ? direct()
          : protocol === 'http:'
            ? socket
            : create({ ...options, socket }, callback);
      if (opened) callback?.(null, opened);
    };
    throughProxy(host, Number(options.port ?? usual_ports[protocol]))
      .then(give)
      .catch(fail);
    return undefined;
  };
  return Object.assign(agent, { createConnection: createGuarded });
}

/** Returns a dispatcher for undici's `fetch`; the guard checks its every connection. */
export function guardedDispatcher(guard: Guard): Agent {
  const connect = buildConnector({ timeout: connect_timeout_milliseconds, lookup: guard.lookup });
  return new Agent({
    connect: (options, callback) => {
      const fail = (error: unknown) => callback(error as Error, null);
      const { protocol, hostname } = options;
      const throughProxy = guard.throughProxy[protocol];
      try {
        guard.checkLiteral(hostname);
      } catch (error) {
        return fail(error);
      }
      if (throughProxy === undefined) return connect(options, callback);
      const give = (socket: Socket | undefined) => {
        if (socket === undefined) connect(options, callback);
        else if (protocol === 'http:') callback(null, socket);
        else connect({ ...options, httpSocket: socket }, callback);
      };
      throughProxy(hostname, Number(options.port || usual_ports[protocol]))
        .then(give)
        .catch(fail);
    },
  });
}
