import { createRequire } from 'node:module';
import type * as Nodemailer from 'nodemailer';
import { v7 as uuidv7 } from 'uuid';
import type { Clock } from '../clock.ts';
import type { Logger } from '../log.ts';
import { describeFailure } from './failure.ts';
import { domainOf, isAddress, readMailbox } from './mailbox.ts';
import type { Mailbox } from './mailbox.ts';
import { oneLine, withoutLinks } from './plain_text.ts';
import { MailSettingError, readRelay } from './relay.ts';
import type { Relay } from './relay.ts';

/** One mail to one recipient, in both forms; subject and names may be untrusted text. */
export type MailMessage = {
  to: string;
  reply_to?: Mailbox;
  subject: string;
  text: string;
  html: string;
};

/** Sends mails. */
export type Mail = {
  /** False if no relay is set: `send` then always returns false. */
  is_configured: boolean;
  /**
   * Returns true if the relay has accepted the mail (its 250). Returns false if there is no relay,
   * an address is invalid, or the relay refused, broke off or took longer than 15 seconds. The time
   * includes the wait for a free connection. The log has the cause. Never throws. After a timeout,
   * the mail may still arrive. `id` becomes the Message-ID: a repeated mail must use the same one.
   */
  send(message: MailMessage, id?: string): Promise<boolean>;
  /**
   * Connects and logs in without sending: undefined if the relay is ready, or if there is none;
   * otherwise a sentence with the needed action.
   */
  check(): Promise<string | undefined>;
  /** Waits for the mails in progress, at most as long as one may take, and accepts no more. */
  close(): Promise<void>;
};

/** Time limits: until a relay is ready for a mail, and for one whole mail. */
type Bounds = { connect_milliseconds: number; send_milliseconds: number };

type MailOptions = {
  url: string | undefined;
  from: string;
  log: Logger;
  clock: Clock;
  bounds?: Bounds;
};

const require = createRequire(import.meta.url);
const default_bounds: Bounds = { connect_milliseconds: 5_000, send_milliseconds: 15_000 };
const connections_max = 5;
// Long enough for the next mail of a burst; after minutes, a firewall may have dropped the
// connection silently.
const idle_milliseconds = 10_000;

/**
 * Opens the sending of mails from `from` through the relay of `url`. Connects at the first mail.
 * Throws `MailSettingError` if one of the two is invalid.
 */
export function openMail(options: MailOptions): Mail {
  const from = readMailbox(options.from);
  if (from === undefined)
    throw new MailSettingError(
      'The sender of mails must be one address, such as sluice@example.com or Sluice ' +
        '<sluice@example.com>.',
    );
  return options.url === undefined
    ? withoutRelay(options.log)
    : withRelay(readRelay(options.url), from, options);
}

function withoutRelay(log: Logger): Mail {
  return {
    is_configured: false,
    send: async () => {
      log.info('a mail was not sent: SLUICE_SMTP_URL is not set');
      return false;
    },
    check: async () => undefined,
    close: async () => undefined,
  };
}

function withRelay(
  relay: Relay,
  from: Mailbox,
  { log, clock, bounds = default_bounds }: MailOptions,
): Mail {
  const transport = openTransport(relay, bounds);
  const under_way = new Set<Promise<boolean>>();
  let is_closed = false;
  const deliver = async (message: MailMessage, id: string): Promise<boolean> => {
    const place = {
      relay: `${relay.host}:${relay.port}`,
      message_id: `<${id}@${domainOf(from.address)}>`,
    };
    try {
      await transport.sendMail({
        ...fieldsOf(message),
        from,
        messageId: place.message_id,
        date: new Date(clock.now()),
        signal: AbortSignal.timeout(bounds.send_milliseconds),
      });
    } catch (error) {
      const { advice, ...particulars } = describeFailure(error, relay);
      log.warn({ ...place, ...particulars }, advice);
      return false;
    }
    log.info(place, 'the mail relay accepted a mail');
    return true;
  };
  return {
    is_configured: true,
    send: async (message, id = uuidv7()) => {
      const fault = is_closed ? 'the server is stopping' : faultOf(message);
      if (fault !== undefined) {
        log.warn(`a mail was not sent: ${fault}`);
        return false;
      }
      const delivery = deliver(message, id);
      under_way.add(delivery);
      return delivery.finally(() => under_way.delete(delivery));
    },
    check: () =>
      transport.verify().then(
        () => undefined,
        (error: unknown) => describeFailure(error, relay).advice,
      ),
    close: async () => {
      is_closed = true;
      await Promise.all(under_way);
      // No mail is in progress: an open connection is idle, or its relay does not say goodbye.
      transport.close({ force: true });
    },
  };
}

function fieldsOf({ to, reply_to, subject, text, html }: MailMessage) {
  return {
    to: { name: '', address: to },
    replyTo:
      reply_to === undefined
        ? undefined
        : { name: oneLine(reply_to.name), address: reply_to.address },
    subject: withoutLinks(subject),
    text,
    html,
    headers: { 'Auto-Submitted': 'auto-generated' },
  };
}

function faultOf({ to, reply_to }: MailMessage): string | undefined {
  if (!isAddress(to)) return 'its recipient is not an address';
  return reply_to === undefined || isAddress(reply_to.address)
    ? undefined
    : 'its reply-to is not an address';
}

/**
 * The relay is the operator's own setting and mostly on a private network, so the guard for users'
 * addresses does not apply.
 */
function openTransport(relay: Relay, bounds: Bounds) {
  // Loaded here: a server without a relay does not need it.
  const { createTransport } = require('nodemailer') as typeof Nodemailer;
  return createTransport({
    pool: true,
    maxConnections: connections_max,
    idleTimeout: idle_milliseconds,
    // For a connection that the relay closed just when it was needed; a relay that hangs up at once
    // is not retried repeatedly.
    maxRequeues: 1,
    host: relay.host,
    port: relay.port,
    secure: relay.is_tls,
    // An attacker on the path could suppress STARTTLS: a password does not leave the machine
    // without TLS.
    requireTLS: !relay.is_tls && !relay.is_loopback && relay.login !== undefined,
    // A relay on this machine seldom has a trusted certificate, and no attacker is in between.
    tls: { rejectUnauthorized: !relay.is_loopback },
    auth:
      relay.login === undefined
        ? undefined
        : { user: relay.login.user, pass: relay.login.password },
    connectionTimeout: bounds.connect_milliseconds,
    greetingTimeout: bounds.connect_milliseconds,
    dnsTimeout: bounds.connect_milliseconds,
    socketTimeout: bounds.send_milliseconds,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}
