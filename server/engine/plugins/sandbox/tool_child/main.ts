import { Socket } from 'node:net';
import { encodeFrame, openFrameReader } from '../frames.ts';
import { frame_bytes_max } from '../limits.ts';
import type { OrderMessage, ReportMessage } from '../protocol.ts';
import { closeProcess } from './close_process.ts';
import { replyOf, openWayOut } from './way_out.ts';
import { openTool } from './tool.ts';
import type { Tool } from './tool.ts';
import { thrownText } from '../thrown.ts';

// The process of tools. Node gets it on standard input as one text (see tool_program.ts); it uses
// the protocol of the plugin sandbox over descriptor 3. Its code is pinned. It still gets no file
// except its package, no environment, and no network except the server's (close_process.ts,
// guarded_socket.ts).
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
const server = new Socket({ fd: 3, readable: true, writable: true });
closeProcess(server);
const tools = new Map<number, Tool>();
let folder = '';

const report = (message: ReportMessage): void =>
  void server.write(encodeFrame(message, frame_bytes_max));
const way_out = openWayOut((instance, request, name, text) =>
  report({ type: 'request', instance, request, name, text }),
);

/** Reports the result of the work as JSON, or its error. */
function settle(instance: number, call: number, work: () => unknown): void {
  way_out
    .during(instance, async () => JSON.stringify((await work()) ?? null))
    .then(
      (text) => report({ type: 'returned', instance, call, text }),
      (error: unknown) => report({ type: 'thrown', instance, call, text: thrownText(error) }),
    );
}

function obey(order: OrderMessage): void {
  if (order.type === 'start') folder = order.guest;
  else if (order.type === 'ping') report({ type: 'pong', size_bytes: process.memoryUsage.rss() });
  else if (order.type === 'load')
    settle(order.instance, order.call, () => {
      const { directory } = JSON.parse(order.code) as { directory: string };
      tools.set(order.instance, openTool(folder, directory, way_out));
      return { methods: ['send'], jobs: [], scheduled_tasks: [], metrics: {}, public_jobs: {} };
    });
  else if (order.type === 'call')
    settle(order.instance, order.call, () =>
      tools.get(order.instance)?.call(order.method, JSON.parse(order.text)),
    );
  else if (order.type === 'reply')
    way_out.answered(order.request, replyOf(order.is_ok, order.text));
  else if (order.type === 'where') report({ type: 'where', instance: order.instance, stack: '' });
  else tools.delete(order.instance);
}

server.on(
  'data',
  openFrameReader(frame_bytes_max, (message) => obey(message as OrderMessage)),
);
// Without the server, there is no work.
server.on('close', () => process.exit(0));
server.on('error', () => process.exit(0));
// Work that a tool leaves behind does not affect calls of another one.
process.on('unhandledRejection', () => {});
