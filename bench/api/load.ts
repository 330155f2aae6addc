// Sends one kind of request over kept connections, each as soon as the one before was answered. It
// is a process of its own, so that it does not share the server's event loop. Started by api.ts.
import { randomUUID } from 'node:crypto';
import { connect } from 'node:net';

/** The request to send, and its rate. */
export type LoadAsked = {
  url: string;
  key: string;
  method: 'GET' | 'POST' | 'PATCH';
  connections: number;
  requests: number;
  /** The body of a change; each gets a name of its own, and a POST an idempotency key. */
  body: object;
};
/** The result of a load. */
export type Load = {
  requests: number;
  seconds: number;
  per_second: number;
  p50_ms: number;
  p99_ms: number;
};

const asked = JSON.parse(process.argv[2]!) as LoadAsked;
const { host, hostname, port, pathname } = new URL(asked.url);
const head =
  `${asked.method} ${pathname} HTTP/1.1\r\nhost: ${host}\r\n` +
  `authorization: Bearer ${asked.key}\r\n`;

function nextRequest(): string {
  if (asked.method === 'GET') return `${head}\r\n`;
  const text = JSON.stringify({ ...asked.body, name: randomUUID() });
  const key = asked.method === 'POST' ? `idempotency-key: ${randomUUID()}\r\n` : '';
  return (
    `${head}${key}content-type: application/json\r\n` +
    `content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
  );
}

/** Returns true once a whole answer arrived; throws for an answer that reports a failure. */
function isWhole(answer: Buffer): boolean {
  const head_length = answer.indexOf('\r\n\r\n') + 4;
  if (head_length < 4) return false;
  const text = answer.toString('latin1', 0, head_length);
  if (!text.startsWith('HTTP/1.1 20')) throw new Error(answer.toString());
  const length = /^content-length: (\d+)/im.exec(text)?.[1];
  if (length !== undefined) return answer.length >= head_length + Number(length);
  return answer.subarray(-5).toString('latin1') === '0\r\n\r\n';
}

const took: number[] = [];
const begun = performance.now();
let left = asked.requests;

function converse(): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    socket.setNoDelay(true);
    let parts: Buffer[] = [];
    let sent_at = 0;
    const send = () => {
      parts = [];
      left -= 1;
      sent_at = performance.now();
      socket.write(nextRequest());
    };
    socket.on('connect', send);
    socket.on('error', reject);
    socket.on('data', (part) => {
      parts.push(part);
      try {
        if (!isWhole(Buffer.concat(parts))) return;
      } catch (error) {
        return reject(error instanceof Error ? error : new Error(String(error)));
      }
      const now = performance.now();
      took.push(now - sent_at);
      if (left > 0) return send();
      socket.destroy();
      resolve();
    });
  });
}

await Promise.all(Array.from({ length: asked.connections }, converse));
const seconds = (performance.now() - begun) / 1_000;
took.sort((one, other) => one - other);
const at = (share: number) => took[Math.floor(took.length * share)]!;
process.send!({
  requests: took.length,
  seconds,
  per_second: took.length / seconds,
  p50_ms: at(0.5),
  p99_ms: at(0.99),
} satisfies Load);
process.disconnect();
