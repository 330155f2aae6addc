import type { IncomingMessage } from 'node:http';

// RFC 3986, 3.2.2 and 3.2.3: a name or IPv4 address, or an IP literal in brackets, and a port.
const host = /^(?:\[[0-9A-Za-z:.%_~-]+\]|[A-Za-z0-9._~!$&'()*+,;=%-]*)(?::\d*)?$/;

/**
 * Returns the fault of a request's Host header, as a sentence; undefined if RFC 9112 (3.2) accepts
 * it: one valid host, and in HTTP/1.0 also none.
 */
export function hostFault(
  request: Pick<IncomingMessage, 'rawHeaders' | 'httpVersion'>,
): string | undefined {
  const { rawHeaders, httpVersion } = request;
  const values = rawHeaders.filter(
    (_value, index) => index % 2 === 1 && /^host$/i.test(rawHeaders[index - 1]!),
  );
  if (values.length === 0)
    return httpVersion === '1.0' ? undefined : 'Send a Host header: the request has none.';
  if (values.length > 1) return 'Send one Host header: the request has several.';
  return host.test(values[0]!.trim()) ? undefined : 'The Host header names no host.';
}
