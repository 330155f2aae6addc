import { oneLine } from './plain_text.ts';
import type { Relay } from './relay.ts';

/**
 * The reason why a mail was refused: a sentence for the operator with the needed action, and
 * details for the log. It contains no content of the mail and no password.
 */
export type MailFailure = {
  advice: string;
  code: string;
  smtp_status: number | undefined;
  detail: string;
};

/** Fields of nodemailer's errors. */
type RelayError = {
  code?: string;
  originalCode?: string;
  responseCode?: number;
  response?: string;
  message: string;
};

const unreachable = 'The mail relay cannot be reached; check host and port in SLUICE_SMTP_URL.';
const late =
  'The mail relay did not answer in time; check host and port in SLUICE_SMTP_URL, and whether ' +
  'the URL needs smtps://.';
const login = 'The mail relay refuses user and password; check them in SLUICE_SMTP_URL.';
const refused = 'The mail relay refused; the detail is its reply.';
const advice_of_code: Record<string, string> = {
  ECONNECTION: unreachable,
  EDNS: unreachable,
  ESOCKET: unreachable,
  EABORT: late,
  ETIMEDOUT: late,
  EAUTH: login,
  EENVELOPE: refused,
  EMESSAGE: refused,
  EPROTOCOL: refused,
  ETLS:
    'TLS with the mail relay failed; use smtps:// if the relay starts with TLS (port 465), or ' +
    'smtp:// if it offers STARTTLS (587). Sluice sends passwords only over TLS.',
};
const untrusted =
  'The certificate of the mail relay is not trusted; give it one that is valid for the host ' +
  'in SLUICE_SMTP_URL, or name its authority in NODE_EXTRA_CA_CERTS.';

const reply_length_max = 300;
const word_length_max = 20;

/** Reads an error of nodemailer. */
export function describeFailure(error: unknown, relay: Relay): MailFailure {
  const { code = 'unknown', originalCode, responseCode, response, message } = error as RelayError;
  const cause = originalCode ?? code;
  const advice = /CERT|ISSUER|LEAF_SIGNATURE/.test(cause)
    ? untrusted
    : /^(EPROTO$|ERR_SSL)/.test(cause)
      ? advice_of_code['ETLS']
      : advice_of_code[code];
  return {
    advice: advice ?? 'The mail could not be sent; the detail says why.',
    code: cause,
    smtp_status: responseCode,
    detail: response === undefined ? oneLine(message) : readableReply(response, relay),
  };
}

/**
 * Returns a relay's answer without words that may repeat the mail: relays quote links, addresses
 * and commands that they reject. Omits addresses, paths, anything as long as a token, and the
 * password in each form in which it is sent.
 */
function readableReply(reply: string, relay: Relay): string {
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const { user, password } = relay.login ?? { user: '', password: '' };
  const secrets =
    password === '' ? [] : [password, base64(password), base64(`\0${user}\0${password}`)];
  return secrets
    .reduce((rest, secret) => rest.replaceAll(secret, '[hidden]'), reply)
    .split(/\s+/)
    .map((word) => (word.length > word_length_max || /[@/=%]/.test(word) ? '[hidden]' : word))
    .join(' ')
    .slice(0, reply_length_max);
}
