// A client in a process of its own, whose sockets are guarded: the process that forked it opens the
// connections. It is told the ports of servers, and sends back what each of its attempts came to.
import { createHash, randomBytes } from 'node:crypto';
import http from 'node:http';
import net from 'node:net';
import { text } from 'node:stream/consumers';
import tls from 'node:tls';
import { guardSockets } from '../../server/engine/plugins/sandbox/tool_child/guarded_socket.ts';

type Given = { echo: number; web: number; secure: number; mute: number; path: string; ca: string };

const waiting = new Map<number, PromiseWithResolvers<unknown>>();
let last = 0;
guardSockets(() => (name, ...parameters) => {
  const answer = Promise.withResolvers<unknown>();
  waiting.set((last += 1), answer);
  process.send!({ id: last, name, parameters });
  return answer.promise;
});
process.on('message', (told: Given | { id: number; value?: unknown; error?: string }) => {
  if (!('id' in told)) return void attempt(told).then((found) => process.send!({ found }));
  const { resolve, reject } = waiting.get(told.id)!;
  if (told.error === undefined) resolve(told.value);
  else reject(new Error(told.error));
});

const host = 'localhost';
const sha256 = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('hex');

async function attempt({ echo, web, secure, mute, path, ca }: Given): Promise<object> {
  const bytes = randomBytes(600 * 1024);
  const echoed = net.connect(echo, host);
  echoed.end(bytes);
  const back = Buffer.concat(await echoed.toArray());
  const tidy = tls.connect({ host, port: secure, ca });
  tidy.end('over TLS');
  return {
    is_echoed: sha256(back) === sha256(bytes),
    counted: [echoed.bytesWritten, echoed.bytesRead],
    states: [echoed.readyState, new net.Socket().readyState],
    over_tls: await text(tidy),
    over_http: await new Promise((resolve, reject) => {
      const asked = http.get({ host, port: web, path: '/asked' }, (answer) =>
        resolve(text(answer).then((body) => `${answer.statusCode} ${body}`)),
      );
      asked.on('error', reject);
    }),
    by_path: await faultOf(net.connect(path)),
    by_own_class: await faultOf(new net.Socket().connect({ path })),
    elsewhere: await faultOf(net.connect(echo, 'elsewhere.example')),
    elsewhere_by_tls: await faultOf(tls.connect({ host: 'elsewhere.example', port: secure })),
    of_a_stranger: await faultOf(tls.connect({ host, port: secure })),
    silence: await new Promise((resolve) => {
      const silent = net.connect({ host, port: mute });
      silent.setTimeout(100, () => silent.destroy());
      silent.on('timeout', () => resolve('timeout'));
    }),
  };
}

/** The code or the text of the fault that a connection ends with. */
function faultOf(socket: net.Socket): Promise<string> {
  return new Promise((resolve) => {
    socket.on('error', ({ code, message }: NodeJS.ErrnoException) => resolve(code ?? message));
    socket.on('secureConnect', () => resolve('connected'));
  });
}
