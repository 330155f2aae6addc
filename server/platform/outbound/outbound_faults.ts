/**
 * Thrown instead of connecting to an address that is not globally reachable. Another attempt does
 * not help.
 */
export class OutboundRefused extends Error {
  readonly code = 'outbound_refused';
  constructor(message: string) {
    super(message);
    this.name = 'OutboundRefused';
  }
}

/**
 * Thrown when the operator's proxy for outgoing connections is at fault. The message may be shown
 * to users: it names no host and no credentials. The code is one of docs/errors.md: after
 * `proxy_refused` another attempt does not help.
 */
export class ProxyFault extends Error {
  readonly code: 'proxy_failed' | 'proxy_refused';
  constructor(code: ProxyFault['code'], message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
    this.name = 'ProxyFault';
  }
}

/** True of an error whose message says to users what stands in the way of a connection. */
export function isSayable(error: unknown): error is OutboundRefused | ProxyFault {
  return error instanceof OutboundRefused || error instanceof ProxyFault;
}
