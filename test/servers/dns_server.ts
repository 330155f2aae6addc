import { createSocket } from 'node:dgram';
import type { Socket } from 'node:dgram';
import { once } from 'node:events';
import net from 'node:net';
import { Packet } from 'dns2';

/** A record of an answer. It belongs to the requested name, unless it names another one. */
export type DnsRecord = { name?: string } & (
  | { type: 'TXT'; strings: (string | Buffer)[] }
  | { type: 'CNAME'; target: string }
  | { type: 'A'; address: string }
);

/**
 * The server's behaviour for a question. Without any field it answers that the name exists and has
 * no record.
 */
export type DnsBehaviour = {
  records?: DnsRecord[];
  rcode?: 'FORMERR' | 'SERVFAIL' | 'NXDOMAIN' | 'NOTIMP' | 'REFUSED';
  /** Delays the answer by this time. */
  delay_ms?: number;
  /** No answer at all, or only over TCP. */
  silent?: 'always' | 'udp';
  /** Over UDP the answer is truncated and marked so, whatever its size. */
  truncated?: boolean;
  /** Closes a connection with this question. */
  tcp_closed?: boolean;
  /** Changes the bytes of the answer at the end. */
  edit?: (message: Buffer) => Buffer;
};

/**
 * A name server on 127.0.0.1, over UDP and TCP on the same port, that answers and fails on request.
 */
export type DnsServer = {
  /** `ip:port`, as resolvers are configured. */
  address: string;
  /**
   * Sets the behaviour for questions about the name, of any type. A name that was never set does
   * not exist (NXDOMAIN).
   */
  set(name: string, behaviour: DnsBehaviour): void;
  /** Received questions, in order; names in lower case. */
  queries: { name: string; type: string; transport: 'udp' | 'tcp' }[];
  close(): Promise<void>;
};

/** Larger answers are truncated over UDP, as of real servers. */
const udp_bytes_max = 1_232;
const port_attempts_max = 10;

/** Answers one message, or does what its name was set to do. */
type Meet = (
  message: Buffer,
  transport: 'udp' | 'tcp',
  send: (answer: Buffer) => void,
  hangUp: () => void,
) => void;

/**
 * Opens the server. `tcp: false` leaves the TCP port closed; with `silent: true`, it does not
 * answer for a name that was never set.
 */
export async function openDnsServer(
  options: { tcp?: boolean; silent?: boolean } = {},
): Promise<DnsServer> {
  const behaviours = new Map<string, DnsBehaviour>();
  const queries: DnsServer['queries'] = [];
  const timers = new Set<NodeJS.Timeout>();
  const connections = new Set<net.Socket>();
  const fallback: DnsBehaviour =
    options.silent === true ? { silent: 'always' } : { rcode: 'NXDOMAIN' };

  const meet: Meet = (message, transport, send, hangUp) => {
    const request = Packet.parse(message);
    const question = request.questions[0]!;
    const name = question.name.toLowerCase();
    queries.push({ name, type: Packet.typeName(question.type), transport });
    const behaviour = behaviours.get(name) ?? fallback;
    if (transport === 'tcp' && behaviour.tcp_closed === true) return hangUp();
    if (behaviour.silent === 'always' || behaviour.silent === transport) return;
    const answer = encode(request, behaviour, transport);
    const timer = setTimeout(() => {
      timers.delete(timer);
      send(answer);
    }, behaviour.delay_ms ?? 0);
    timers.add(timer);
  };

  const tcp = openTcp(connections, meet);
  const udp = await bind(tcp, options.tcp ?? true);
  udp.on('message', (message, peer) =>
    meet(
      message,
      'udp',
      (answer) => udp.send(answer, peer.port, peer.address),
      () => {},
    ),
  );
  return {
    address: `127.0.0.1:${udp.address().port}`,
    set: (name, behaviour) => void behaviours.set(name.toLowerCase(), behaviour),
    queries,
    close: async () => {
      for (const timer of timers) clearTimeout(timer);
      for (const connection of connections) connection.destroy();
      const ended = [once(udp, 'close'), ...(tcp.listening ? [once(tcp, 'close')] : [])];
      udp.close();
      tcp.close();
      await Promise.all(ended);
    },
  };
}

function openTcp(connections: Set<net.Socket>, meet: Meet): net.Server {
  return net.createServer((connection) => {
    connections.add(connection);
    connection.on('close', () => connections.delete(connection));
    connection.on('error', () => connection.destroy());
    readMessages(connection, (message) =>
      meet(
        message,
        'tcp',
        (answer) => connection.write(framed(answer)),
        () => connection.destroy(),
      ),
    );
  });
}

/** Returns a UDP port whose TCP port is free as well; the system assigns the two independently. */
async function bind(tcp: net.Server, withTcp: boolean): Promise<Socket> {
  for (let attempt = 1; ; attempt += 1) {
    const udp = createSocket('udp4');
    udp.bind(0, '127.0.0.1');
    await once(udp, 'listening');
    if (!withTcp) return udp;
    try {
      tcp.listen(udp.address().port, '127.0.0.1');
      await once(tcp, 'listening');
      return udp;
    } catch (error) {
      udp.close();
      if (attempt === port_attempts_max) throw error;
    }
  }
}

function encode(request: Packet, behaviour: DnsBehaviour, transport: 'udp' | 'tcp'): Buffer {
  const response = Packet.createResponseFromRequest(request);
  response.header.ra = 1;
  response.header.rcode = Packet.RCODE[behaviour.rcode ?? 'NOERROR'];
  response.answers = (behaviour.records ?? []).map((record) =>
    resource(record, request.questions[0]!.name),
  );
  const message = response.toBuffer();
  if (transport === 'tcp' || (behaviour.truncated !== true && message.length <= udp_bytes_max))
    return behaviour.edit?.(message) ?? message;
  response.answers = [];
  response.header.tc = 1;
  return response.toBuffer();
}

function resource(record: DnsRecord, asked: string) {
  const base = {
    name: record.name ?? asked,
    type: Packet.TYPE[record.type],
    class: Packet.CLASS.IN,
    ttl: 300,
  };
  switch (record.type) {
    case 'TXT':
      return new Packet.Resource({ ...base, data: record.strings as string[] });
    case 'CNAME':
      return new Packet.Resource({ ...base, domain: record.target });
    case 'A':
      return new Packet.Resource({ ...base, address: record.address });
  }
}

function framed(message: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(message.length);
  return Buffer.concat([length, message]);
}

/** Messages over TCP each follow their length in two bytes (RFC 1035, 4.2.2). */
function readMessages(connection: net.Socket, onMessage: (message: Buffer) => void): void {
  let received = Buffer.alloc(0);
  connection.on('data', (chunk) => {
    received = Buffer.concat([received, chunk]);
    while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
      const end = 2 + received.readUInt16BE(0);
      onMessage(received.subarray(2, end));
      received = received.subarray(end);
    }
  });
}
