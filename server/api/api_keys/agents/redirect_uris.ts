import { isLineOfText } from '../../../platform/line_of_text.ts';

const characters_max = 300;
const loopback = new Set(['127.0.0.1', '[::1]', 'localhost']);
/** Schemes of programs whose names lack the domain that RFC 8252 (7.1) asks for. */
const known_programs = new Set(['cursor:', 'vscode:', 'vscode-insiders:', 'windsurf:']);
const of_domain = /^[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+:$/;

/**
 * Returns true for an address that may receive a code: https, http on this computer, or a scheme of
 * a program.
 */
export function isRedirectUri(text: unknown): text is string {
  if (typeof text !== 'string' || text.length > characters_max) return false;
  if (!isLineOfText(text) || /[\s#\\]/.test(text)) return false;
  const url = URL.parse(text);
  if (url === null || url.username !== '' || url.password !== '') return false;
  const { protocol } = url;
  if (protocol === 'https:') return true;
  if (protocol === 'http:') return isOfThisComputer(text);
  return known_programs.has(protocol) || of_domain.test(protocol);
}

/** Returns true if the address belongs to a program on the person's computer. */
export function isOfThisComputer(uri: string): boolean {
  const { protocol, hostname } = new URL(uri);
  return protocol !== 'https:' && (protocol !== 'http:' || loopback.has(hostname));
}

/**
 * Returns true for the same address. On this computer any port is allowed, because a program takes
 * a free one (RFC 8252, 7.3).
 */
export function isSameAddress(registered: string, sent: string): boolean {
  return isRedirectUri(sent) && withoutPort(registered) === withoutPort(sent);
}

function withoutPort(uri: string): string {
  return uri.replace(/^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost)):\d+(?=[/?]|$)/, '$1');
}

/** Returns the destination of the address in a word: a host, or the scheme of a program. */
export function placeOf(uri: string): string {
  const { protocol, hostname } = new URL(uri);
  return protocol === 'https:' || protocol === 'http:' ? hostname : `${protocol}//`;
}

/** Returns the address with the parameters of an answer. */
export function answerAt(uri: string, answer: Record<string, string | undefined>): string {
  const url = new URL(uri);
  for (const [name, value] of Object.entries(answer))
    if (value !== undefined) url.searchParams.set(name, value);
  return url.href;
}
