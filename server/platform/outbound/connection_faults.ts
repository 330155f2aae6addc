/** Faults before another server has answered. */
export type ConnectionFault =
  | 'host_not_found'
  | 'lookup_failed'
  | 'unreachable'
  | 'broken'
  | 'timed_out'
  | 'tls_not_offered'
  | 'tls_not_verified'
  | 'not_http';

const codes: Record<ConnectionFault, readonly string[]> = {
  host_not_found: ['ENOTFOUND'],
  lookup_failed: ['EAI_AGAIN'],
  unreachable: [
    'ECONNREFUSED',
    'EHOSTUNREACH',
    'ENETUNREACH',
    'ETIMEDOUT',
    'UND_ERR_CONNECT_TIMEOUT',
  ],
  broken: ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'],
  timed_out: ['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'],
  tls_not_offered: ['EPROTO', 'ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG'],
  tls_not_verified: [
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    'UNABLE_TO_GET_ISSUER_CERT',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'CERT_HAS_EXPIRED',
  ],
  // The first three come from Node's parser, the last one is the name of undici's error.
  not_http: [
    'HPE_INVALID_CONSTANT',
    'HPE_INVALID_VERSION',
    'HPE_INVALID_STATUS',
    'HTTPParserError',
  ],
};

/**
 * Returns one text per error code of Node.js and undici, from the text of each kind of fault; an
 * omitted kind has no entry.
 */
export function byConnectionCode<Said>(
  said: Partial<Record<ConnectionFault, Said>>,
): Record<string, Said> {
  const entries = Object.entries(said) as [ConnectionFault, Said][];
  return Object.fromEntries(
    entries.flatMap(([kind, one]) => codes[kind].map((code) => [code, one])),
  );
}
