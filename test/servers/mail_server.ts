import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import PostalMime from 'postal-mime';
import type { Email } from 'postal-mime';
import { SMTPServer } from 'smtp-server';
import type { SMTPServerOptions, SMTPServerSession } from 'smtp-server';
import { eventually } from '../eventually.ts';
import { certificate, certificate_key } from './certificate.ts';

/**
 * A mail as the relay accepted it: the envelope, the message as it arrived (decoded as UTF-8), and
 * the parts that a mail program shows.
 */
export type ReceivedMail = {
  from: string;
  to: string[];
  user: string | undefined;
  is_encrypted: boolean;
  raw: string;
  content: Email;
};

/**
 * The faults of a relay. `refuse`, `hang` and `drop` replace the greeting; `hang_after` and
 * `drop_during` happen while the mail itself arrives.
 */
export type MailFault =
  | 'refuse'
  | 'hang'
  | 'drop'
  | 'reject_recipient'
  | 'reject_message'
  | 'hang_after'
  | 'drop_during';

/** A relay on 127.0.0.1 that keeps every mail. */
export type MailServer = {
  /** For `SLUICE_SMTP_URL`, with user and password if the relay requires them. */
  url: string;
  /** The mails in the order of their arrival. */
  mails: ReceivedMail[];
  /** Users that anyone tried to log in as. */
  logins: string[];
  /** Returns how many connections are open. */
  connections(): number;
  /**
   * Sets the fault from the next connection or mail on; undefined clears it. `reply` is the answer
   * of the relay.
   */
  setFault(fault: MailFault | undefined, reply?: string): void;
  /** The latest mail to an address; waits for the first one. */
  waitFor(address: string): Promise<ReceivedMail>;
  close(): Promise<void>;
};

type State = { fault: MailFault | undefined; reply: string };
type MailServerOptions = {
  tls?: 'none' | 'starttls' | 'implicit';
  login?: { user: string; password: string };
};

/**
 * Starts a relay, by default without TLS and open to anyone. Its certificate is self-signed, for
 * the name localhost.
 */
export async function openMailServer({
  tls = 'none',
  login,
}: MailServerOptions = {}): Promise<MailServer> {
  const sockets = new Map<number, Socket>();
  const state: State = { fault: undefined, reply: '' };
  const mails: ReceivedMail[] = [];
  const logins: string[] = [];
  const server = new SMTPServer({
    secure: tls === 'implicit',
    disabledCommands: tls === 'starttls' ? [] : ['STARTTLS'],
    allowInsecureAuth: tls === 'none',
    authOptional: login === undefined,
    key: certificate_key,
    cert: certificate,
    disableReverseLookup: true,
    closeTimeout: 1,
    onAuth: ({ username = '', password }, _session, callback) => {
      logins.push(username);
      const isRight = username === login?.user && password === login.password;
      callback(
        isRight ? null : smtpError(535, 'Authentication failed'),
        isRight ? { user: username } : undefined,
      );
    },
    ...faultyHandlers(state, sockets, async (stream, session) => {
      const raw = await text(stream);
      const mail = await readMail(raw, session);
      mails.push(mail);
      server.emit('mail');
    }),
  });
  // Some tests need a client that is cut off, or that refuses the certificate.
  server.on('error', () => undefined);
  server.server.on('connection', (socket: Socket) => {
    const remotePort = socket.remotePort ?? 0;
    sockets.set(remotePort, socket);
    socket.on('close', () => sockets.delete(remotePort));
  });
  server.listen(0, '127.0.0.1');
  await once(server.server, 'listening');
  const { port } = server.server.address() as AddressInfo;
  return {
    url: `${tls === 'implicit' ? 'smtps' : 'smtp'}://${userinfoOf(login)}127.0.0.1:${port}`,
    mails,
    logins,
    connections: () => sockets.size,
    setFault: (fault, reply = 'No') => void Object.assign(state, { fault, reply }),
    waitFor: (address) =>
      eventually(`no mail came to ${address}`, () =>
        mails.findLast(({ to }) => to.includes(address)),
      ),
    close: async () => {
      const closed = once(server.server, 'close');
      server.close();
      for (const socket of sockets.values()) socket.destroy();
      await closed;
    },
  };
}

function userinfoOf(login: MailServerOptions['login']): string {
  return login === undefined
    ? ''
    : `${encodeURIComponent(login.user)}:${encodeURIComponent(login.password)}@`;
}

type Take = (stream: NodeJS.ReadableStream, session: SMTPServerSession) => Promise<void>;

/**
 * The steps of a conversation at which something can go wrong. A handler that hangs never calls
 * back.
 */
function faultyHandlers(
  state: State,
  sockets: Map<number, Socket>,
  take: Take,
): Pick<SMTPServerOptions, 'onConnect' | 'onRcptTo' | 'onData'> {
  return {
    onConnect: (session, callback) => {
      if (state.fault === 'hang') return;
      if (state.fault === 'drop') sockets.get(session.remotePort)?.destroy();
      else callback(state.fault === 'refuse' ? smtpError(554, state.reply) : null);
    },
    onRcptTo: (_address, _session, callback) =>
      callback(state.fault === 'reject_recipient' ? smtpError(550, state.reply) : null),
    onData: (stream, session, callback) => {
      if (state.fault === 'drop_during') {
        sockets.get(session.remotePort)?.destroy();
      } else if (state.fault === 'hang_after' || state.fault === 'reject_message') {
        stream.resume();
        if (state.fault === 'reject_message')
          stream.on('end', () => callback(smtpError(554, state.reply)));
      } else {
        take(stream, session).then(() => callback(null), callback);
      }
    },
  };
}

function smtpError(responseCode: number, message: string): Error {
  return Object.assign(new Error(message), { responseCode });
}

async function readMail(
  raw: string,
  { envelope, user, secure }: SMTPServerSession,
): Promise<ReceivedMail> {
  const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address;
  return {
    from,
    to: envelope.rcptTo.map(({ address }) => address),
    user: user === undefined ? undefined : String(user),
    is_encrypted: secure,
    raw,
    content: await PostalMime.parse(raw),
  };
}
