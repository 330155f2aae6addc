/**
 * Thrown instead of connecting to an address that is not globally reachable. A retry does not help.
 */
export class OutboundRefused extends Error {
  readonly code = 'outbound_refused';
  constructor(message: string) {
    super(message);
    this.name = 'OutboundRefused';
  }
}

/**
 * Thrown for a fault of the operator's proxy for outgoing connections. Users may see the message:
 * it contains no host and no credentials. The code is one of docs/errors.md: after `proxy_refused`,
 * a retry does not help.
 */
export class ProxyFault extends Error {
  readonly code: 'proxy_failed' | 'proxy_refused';
  constructor(code: ProxyFault['code'], message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
    this.name = 'ProxyFault';
  }
}

/** Returns true for an error whose message tells users why a connection is impossible. */
export function isSayable(error: unknown): error is OutboundRefused | ProxyFault {
  return error instanceof OutboundRefused || error instanceof ProxyFault;
}
