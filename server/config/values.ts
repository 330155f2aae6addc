import { Resolver } from 'node:dns';
import { resolve } from 'node:path';
import { commandLine } from '../platform/command_line.ts';
import { isWellFormedApiKey } from '../platform/http/caller/api_key.ts';
import { isIpRange } from '../platform/http/guards/ip_ranges.ts';
import { readMailbox } from '../platform/mail/mailbox.ts';
import { MailSettingError, readRelay } from '../platform/mail/relay.ts';
import { splitHosts } from '../platform/postgres/hosts.ts';

/** Reads the text of a variable, or throws `WrongValue`. */
export type Read<Result> = (text: string) => Result;

/**
 * The types of the values that settings are read as. An unset setting without a default is
 * undefined, or an empty list.
 */
export type ValuesOf<
  Settings extends Record<string, { default_text: string; read: Read<unknown> }>,
> = {
  [Name in keyof Settings]:
    | ReturnType<Settings[Name]['read']>
    | (Settings[Name]['default_text'] extends ''
        ? ReturnType<Settings[Name]['read']> extends string[]
          ? never
          : undefined
        : never);
};

/** A setting has a text that is not allowed; the message says which are. */
export class WrongValue extends Error {}

function wrong(detail: string): never {
  throw new WrongValue(detail);
}

/** Any text. */
export const text: Read<string> = (value) => value;
/** A path, made absolute. */
export const folder: Read<string> = (value) => resolve(value);
/** A whole number within both bounds. */
export const whole =
  (minimum: number, maximum: number): Read<number> =>
  (value) => {
    const number = Number(value);
    if (!/^\d+$/.test(value) || number < minimum || number > maximum)
      wrong(`must be a whole number from ${minimum} to ${maximum}, not "${value}".`);
    return number;
  };
/** A number within both bounds. */
export const number =
  (minimum: number, maximum: number): Read<number> =>
  (value) => {
    const read = Number(value);
    if (!/^[\d.]+$/.test(value) || !(read >= minimum && read <= maximum))
      wrong(`must be a number from ${minimum} to ${maximum}, not "${value}".`);
    return read;
  };
/**
 * Throws if a part before the `?` is not percent-encoded. The message repeats no text, because it
 * may be a password.
 */
function requireEncoded(value: string): void {
  const [, before = ''] = /^[a-z]+:\/\/([^?#]*)/i.exec(value) ?? [];
  try {
    decodeURIComponent(before);
  } catch {
    wrong('must be percent-encoded: a % in a user or password is written %25.');
  }
}

/**
 * A URL of one of the protocols (`https:`), exactly as written, with a user, password and path that
 * can be decoded. A refusal never repeats its text. A URL that Node cannot parse, such as a socket
 * URL of PostgreSQL, is checked by its beginning only.
 */
export const exactUrl =
  (...protocols: string[]): Read<string> =>
  (value) => {
    const protocol = URL.canParse(value)
      ? new URL(value).protocol
      : /^([a-z]+:)\/\//.exec(value)?.[1];
    // A password with an unencoded `/` or the like makes the URL impossible to parse.
    if (!URL.canParse(value) && value.includes('@') && /^https?:/.test(value))
      wrong('must be a URL; in a user or password write @ as %40, / as %2F, # as %23, ? as %3F.');
    if (protocol === undefined || !protocols.includes(protocol))
      wrong(`must be a URL that begins with ${protocols.map((name) => `${name}//`).join(' or ')}.`);
    requireEncoded(value);
    return value;
  };
/** A URL as `exactUrl` reads it, without a slash at the end. */
export const url =
  (...protocols: string[]): Read<string> =>
  (value) =>
    exactUrl(...protocols)(value).replace(/\/$/, '');
/** Reads URLs as `url` does, separated by commas, and joins them again. */
export const urls =
  (...protocols: string[]): Read<string> =>
  (value) =>
    listed(value)
      .map(url(...protocols))
      .join(',');
/** A proxy, as `http://user:password@host:3128`; `http://` may be left out. */
export const proxy: Read<string> = (value) => {
  const read = url('http:', 'https:')(value.includes('://') ? value : `http://${value}`);
  const { hostname, pathname, search, hash } = URL.parse(read) ?? { hostname: '' };
  if (hostname === '' || pathname !== '/' || search !== '' || hash !== '')
    wrong('must end after the port: http://user:password@host:3128.');
  return read;
};
/** Hosts, addresses and CIDR ranges with an optional port, or `*`, separated by commas. */
export const hosts: Read<string[]> = (value) =>
  listed(value).map((item) => {
    if (item.includes('/') && !isIpRange(item))
      wrong(`must be hosts, addresses or CIDR ranges separated by commas; "${item}" is none.`);
    return item;
  });
/** A URL of PostgreSQL, which may name several servers. */
export const postgresUrl: Read<string> = (value) => {
  requireEncoded(value);
  try {
    splitHosts(value);
  } catch (error) {
    wrong((error as Error).message);
  }
  return url('postgres:', 'postgresql:')(value);
};
/** The ARN of an identity of AWS. */
export const awsPrincipal: Read<string> = (value) => {
  if (!/^arn:aws[a-z-]*:(?:iam|sts)::[0-9]{12}:[\w+=,.@/-]+$/.test(value))
    wrong(`must be the ARN of a user or role, not "${value}".`);
  return value;
};
/** An e-mail address. */
export const email: Read<string> = (value) => {
  if (!/^[^\s@]+@[^\s@]+$/.test(value)) wrong(`must be an e-mail address, not "${value}".`);
  return value;
};
/** The name of a ClickHouse cluster, which has letters, digits, `_`, `-` and `.`. */
export const clusterName: Read<string> = (value) => {
  if (!/^[\w.-]+$/.test(value)) wrong(`must be the name of a cluster, not "${value}".`);
  return value;
};
/** `true` or `false`. */
export const flag: Read<boolean> = (value) => {
  if (value !== 'true' && value !== 'false') wrong(`must be true or false, not "${value}".`);
  return value === 'true';
};
/** One of the allowed words. */
export const choice =
  <const Word extends string>(...allowed: Word[]): Read<Word> =>
  (value) =>
    allowed.find((word) => word === value) ??
    wrong(`must be one of ${allowed.join(', ')}, not "${value}".`);
/** A text of at least so many characters. The refusal does not repeat the text. */
export const longEnough =
  (minimum: number): Read<string> =>
  (value) => {
    if (value.length < minimum) wrong(`must have at least ${minimum} characters.`);
    return value;
  };
/** Secrets of at least 32 characters, separated by commas. The refusal repeats no secret. */
export const secrets: Read<string[]> = (value) => {
  const items = listed(value);
  if (items.some((item) => item.length < 32))
    wrong('must be secrets of at least 32 characters each, separated by commas.');
  return items;
};
/** A personal API key with a valid form and checksum. */
export const apiKey: Read<string> = (value) => {
  if (!isWellFormedApiKey(value))
    wrong(
      'must be a personal API key, whole and unchanged: "slk_" and 49 letters or digits, of ' +
        `which six are a checksum (create one with \`${commandLine('key create')}\`).`,
    );
  return value;
};
/** Addresses and CIDR ranges, separated by commas. */
export const ranges: Read<string[]> = (value) =>
  listed(value).map((item) => {
    if (!isIpRange(item))
      wrong(`must be addresses or CIDR ranges separated by commas; "${item}" is neither.`);
    return item;
  });
/** IP addresses with an optional port, separated by commas. */
export const addresses: Read<string[]> = (value) =>
  listed(value).map((item) => {
    try {
      new Resolver().setServers([item]);
    } catch {
      wrong(
        `must be IP addresses (with an optional :port) separated by commas; "${item}" is not one.`,
      );
    }
    return item;
  });

/** The URL of a mail relay. */
export const relay: Read<string> = (value) => {
  try {
    readRelay(value);
  } catch (error) {
    if (error instanceof MailSettingError) wrong(error.message);
    throw error;
  }
  return value;
};
/** One mailbox, as `Sluice <sluice@example.com>`. */
export const mailbox: Read<string> = (value) => {
  if (readMailbox(value) === undefined)
    wrong('must be one address, as "sluice@example.com" or "Sluice <sluice@example.com>".');
  return value;
};

/** Splits a value at its commas. */
export function listed(value: string): string[] {
  return value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

/**
 * Declares a setting: its variable, the text of its default, its reader, its line of documentation,
 * and other variables that are read if it is unset.
 */
export function setting<Result, const Default extends string>(
  variable: string,
  default_text: Default,
  read: Read<Result>,
  documentation: string,
  else_variables: readonly string[] = [],
) {
  return { variable, default_text, read, documentation, else_variables };
}
