import tls from 'node:tls';
import type { Worker } from 'node:worker_threads';
import type { Outbound } from '../../../platform/outbound/outbound.ts';
import { stopError } from '../../model/destination/stop.ts';
import { giveThreadBack, takeThread } from './thread.ts';
import { openTunnel } from './tunnel.ts';
import type { Tunnel } from './tunnel.ts';

/**
 * The fields of the official client's faults; `status` is that of an HTTP answer that did not come
 * from Snowflake.
 */
export type ClientFault = {
  code: string;
  sql_state: string;
  message: string;
  status?: number | undefined;
  cause_code?: string | undefined;
  cause_message?: string | undefined;
};

type Call =
  | { kind: 'connect'; options: Record<string, unknown>; certificates: string[] }
  | {
      kind: 'execute';
      statement: string;
      values?: string[] | undefined;
      bytes?: Uint8Array | undefined;
    }
  | { kind: 'close' };

/**
 * A request to the thread of the client. Connecting needs the client's options, and the certificate
 * authorities that this process trusts.
 */
export type ClientRequest = Call & { id: number };

/** Its answer. */
export type ClientReply = { id: number; rows: unknown[] } | { id: number; fault: ClientFault };

/** A fault that the official client reported. */
export class SnowflakeFault extends Error {
  readonly fault: ClientFault;
  constructor(fault: ClientFault) {
    super(fault.message);
    this.name = 'SnowflakeFault';
    this.fault = fault;
  }
}

/**
 * The official client, behind the outbound guard. Every call rejects at once if the client is lost
 * or its signal aborts.
 */
export type Client = {
  connect(options: Record<string, unknown>): Promise<void>;
  /**
   * Returns the rows of the answer. With `bytes`, which are transferred, the statement is a PUT and
   * they are its file.
   */
  execute(statement: string, values?: string[], bytes?: Uint8Array): Promise<unknown[]>;
  /**
   * Signs out, even after a stop, and waits a few seconds at most; afterwards nothing of the client
   * continues. Never rejects.
   */
  close(): Promise<void>;
};

const close_timeout_milliseconds = 5_000;
/** So that the client shows why it could not connect; the engine retries later. */
const login_retries_max = 1;

/**
 * Starts the client in its own thread, with a tunnel through the guard as its only network access.
 * A connection that the guard or the system refuses ends the client with that error: the client
 * itself would retry for minutes and then not know why.
 */
export async function openClient({
  outbound,
  signal,
}: {
  outbound: Outbound;
  signal: AbortSignal;
}): Promise<Client> {
  const calls = new Calls();
  const tunnel = await openTunnel(outbound, (error) => calls.lose(error));
  const thread = takeThread();
  thread.on('message', (reply: ClientReply) => calls.settle(reply));
  thread.on('error', (error: Error) => calls.lose(lostClient(error.message)));
  let is_connected = false;
  thread.once('exit', () => {
    is_connected = false;
    calls.lose(lostClient('The client ended.'));
  });
  const stop = () => calls.lose(stopError(signal));
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  return {
    connect: async (options) => {
      const certificates = tls.getCACertificates('default');
      await calls.send(thread, {
        kind: 'connect',
        options: { ...options, ...proxyOptions(tunnel) },
        certificates,
      });
      is_connected = true;
    },
    execute: (statement, values, bytes) =>
      calls.send(
        thread,
        { kind: 'execute', statement, values, bytes },
        bytes === undefined ? [] : [bytes.buffer as ArrayBuffer],
      ),
    close: async () => {
      signal.removeEventListener('abort', stop);
      const isReusable = (await signOut()) && calls.isIdle();
      if (isReusable) giveThreadBack(thread);
      else await thread.terminate();
      await tunnel.close();
    },
  };

  /**
   * Even after a stop, so that the server releases locks and temporary tables. Returns true if no
   * session is left, for example because it was refused.
   */
  async function signOut(): Promise<boolean> {
    if (!is_connected) return true;
    const { promise: late, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => resolve(false), close_timeout_milliseconds);
    const signedOut = calls.sendLast(thread, { kind: 'close' }).then(
      () => true,
      () => false,
    );
    return Promise.race([signedOut, late]).finally(() => clearTimeout(timer));
  }
}

function lostClient(message: string): SnowflakeFault {
  return new SnowflakeFault({ code: 'client_lost', sql_state: '', message });
}

/** The calls that wait for the thread's answer. */
class Calls {
  private readonly waiting = new Map<
    number,
    { resolve(rows: unknown[]): void; reject(error: Error): void }
  >();
  private lost: Error | undefined;
  private sent = 0;

  send(thread: Worker, call: Call, handed_over: ArrayBuffer[] = []): Promise<unknown[]> {
    return this.lost === undefined
      ? this.sendLast(thread, call, handed_over)
      : Promise.reject(this.lost);
  }

  /** Does the same as `send` even after a fault; never settles if the thread has ended. */
  sendLast(thread: Worker, call: Call, handed_over: ArrayBuffer[] = []): Promise<unknown[]> {
    const id = (this.sent += 1);
    const { promise, resolve, reject } = Promise.withResolvers<unknown[]>();
    this.waiting.set(id, { resolve, reject });
    thread.postMessage({ ...call, id } satisfies ClientRequest, handed_over);
    return promise;
  }

  settle(reply: ClientReply): void {
    const call = this.waiting.get(reply.id);
    this.waiting.delete(reply.id);
    if ('rows' in reply) call?.resolve(reply.rows);
    else call?.reject(new SnowflakeFault(reply.fault));
  }

  /** Rejects all waiting and later calls with its first error. */
  lose(error: Error): void {
    this.lost ??= error;
    for (const { reject } of this.waiting.values()) reject(this.lost);
    this.waiting.clear();
  }

  /** Returns true if every call was answered and the thread has no fault. */
  isIdle(): boolean {
    return this.lost === undefined && this.waiting.size === 0;
  }
}

/**
 * The host also contains the credentials: of the three storage clients, the one for Azure only gets
 * the host.
 */
function proxyOptions(tunnel: Tunnel): Record<string, unknown> {
  return {
    proxyHost: `${tunnel.user}:${tunnel.password}@127.0.0.1`,
    proxyPort: tunnel.port,
    proxyUser: tunnel.user,
    proxyPassword: tunnel.password,
    proxyProtocol: 'http',
    sfRetryMaxLoginRetries: login_retries_max,
  };
}
