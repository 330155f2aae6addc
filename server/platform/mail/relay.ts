import { domainToASCII } from 'node:url';
import ipaddr from 'ipaddr.js';

/** The server that relays our mails. */
export type Relay = {
  /** Name in ASCII or address, without brackets. */
  host: string;
  port: number;
  /** TLS from the first byte; otherwise STARTTLS if the relay offers it. */
  is_tls: boolean;
  /** True if the connection does not leave the machine. */
  is_loopback: boolean;
  login: { user: string; password: string } | undefined;
};

/**
 * Thrown for an invalid mail setting. The message follows the setting's name: "must …", and does
 * not repeat its value.
 */
export class MailSettingError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'MailSettingError';
  }
}

const form = 'smtp://host:port or smtps://user:password@host:port';

/**
 * Reads the relay from a URL: `smtp://` (default port 587) or `smtps://` (465), user and password
 * percent-encoded. Throws `MailSettingError` for anything else. `localhost` becomes 127.0.0.1, so
 * that no DNS decides about it.
 */
export function readRelay(url: string): Relay {
  if (!URL.canParse(url)) throw new MailSettingError(`must be a URL: ${form}.`);
  const { protocol, hostname, port, username, password, pathname, search, hash } = new URL(url);
  if (protocol !== 'smtp:' && protocol !== 'smtps:')
    throw new MailSettingError(`must begin with smtp:// or smtps://: ${form}.`);
  if (!/^\/?$/.test(pathname) || search !== '' || hash !== '')
    throw new MailSettingError(`must end after the port: ${form}.`);
  const host = domainToASCII(decode(hostname)).replace(/^\[(.*)\]$/, '$1');
  if (host === '') throw new MailSettingError(`must name a host: ${form}.`);
  if ((username === '') !== (password === ''))
    throw new MailSettingError(`must have both user and password, or neither: ${form}.`);
  const is_loopback =
    host === 'localhost' || (ipaddr.isValid(host) && ipaddr.process(host).range() === 'loopback');
  const is_tls = protocol === 'smtps:';
  return {
    host: host === 'localhost' ? '127.0.0.1' : host,
    port: port === '' ? (is_tls ? 465 : 587) : Number(port),
    is_tls,
    is_loopback,
    login: username === '' ? undefined : { user: decode(username), password: decode(password) },
  };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new MailSettingError(
      'must be percent-encoded: a % in a user or password is written %25.',
    );
  }
}
