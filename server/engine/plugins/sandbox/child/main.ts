import { Socket } from 'node:net';
import { availableParallelism } from 'node:os';
import { encodeFrame, openFrameReader } from '../frames.ts';
import { frame_bytes_max } from '../limits.ts';
import type { OrderMessage, ReportMessage } from '../protocol.ts';
import { openSemaphore } from '../../../../platform/pacing/semaphore.ts';
import { openIsolate } from './isolate.ts';
import type { PluginIsolate } from './isolate.ts';

// The sandbox process. Node gets it on standard input as one text (see program.ts); descriptor 3
// carries orders and reports. A signal to the whole group is meant for the server, which ends this
// process when plugins are at a safe point.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
const server = new Socket({ fd: 3, readable: true, writable: true });
const isolates = new Map<number, PluginIsolate>();
// A stretch of code that waits for a thread would look stuck.
const permits = openSemaphore(availableParallelism());
let guest = '';

const report = (message: ReportMessage): void =>
  void server.write(encodeFrame(message, frame_bytes_max));

const obey = (order: OrderMessage): void => {
  if (order.type === 'start') guest = order.guest;
  else if (order.type === 'ping') report({ type: 'pong', size_bytes: process.memoryUsage.rss() });
  else if (order.type === 'load')
    isolates.set(order.instance, openIsolate(order, guest, permits, reportOf(order.instance)));
  else if (order.type === 'call') isolates.get(order.instance)?.call(order);
  else if (order.type === 'reply') isolates.get(order.instance)?.reply(order);
  else if (order.type === 'where') isolates.get(order.instance)?.where();
  else {
    isolates.get(order.instance)?.dispose();
    isolates.delete(order.instance);
  }
};

function reportOf(instance: number): (message: ReportMessage) => void {
  return (message) => {
    if (message.type === 'fault') isolates.delete(instance);
    report(message);
  };
}

server.on(
  'data',
  openFrameReader(frame_bytes_max, (message) => obey(message as OrderMessage)),
);
// Without the server, there is no work.
server.on('close', () => process.exit(0));
server.on('error', () => process.exit(0));
