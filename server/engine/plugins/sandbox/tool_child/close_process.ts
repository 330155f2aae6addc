import dgram from 'node:dgram';
import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
import type { Socket } from 'node:net';
import os from 'node:os';
import sqlite from 'node:sqlite';
import tls from 'node:tls';
import v8 from 'node:v8';

type Methods = Record<string, unknown>;

// Node's permissions do not cover sockets, signals, priorities and SQLite's files.

/** Members of `process` that reach other processes, native code, or open handles. */
const process_members =
  'kill _kill _debugProcess _debugEnd dlopen binding _linkedBinding execve report ' +
  '_getActiveHandles _getActiveRequests chdir umask setuid setgid seteuid setegid setgroups ' +
  'initgroups loadEnvFile';

/** Methods that connect a system handle to an address, a path or a descriptor. */
const handle_methods = ['open', 'bind', 'bind6', 'listen', 'connect', 'connect6'];

/**
 * Permanently removes all access beyond the process that Node's permissions leave: code in it can
 * no longer connect, listen, query a name server, signal another process or open a database.
 * `server` stays open.
 */
export function closeProcess(server: Socket): void {
  // They open on first access, which would be too late. A tool's output may contain settings of its
  // tenant: only V8's last output is passed on.
  for (const stream of [process.stdout, process.stderr])
    stream.write = (_chunk: unknown, ...rest: unknown[]) => {
      const heard = rest.at(-1);
      if (typeof heard === 'function') process.nextTick(heard);
      return true;
    };
  closeSockets(server);
  closeNames();
  refuse(dgram, ['createSocket', 'Socket']);
  for (const name of process_members.split(' ')) delete (process as unknown as Methods)[name];
  refuse(os, ['setPriority']);
  refuse(v8, ['setFlagsFromString']);
  refuse(sqlite, Object.keys(sqlite));
  syncBuiltinESMExports();
}

/** Removes the methods: code that finds a handle cannot use it. */
function closeSockets(server: Socket): void {
  const secure = new tls.TLSSocket(undefined as never);
  const stream = partOf(partOf(secure, '_handle'), '_parent');
  const pipe = partOf(server, '_handle');
  for (const handle of [stream, pipe]) remove(handle, (name) => handle_methods.includes(name));
  secure.destroy();
  const datagram = dgram.createSocket('udp4');
  const key = Object.getOwnPropertySymbols(datagram).find(
    ({ description }) => description === 'state symbol',
  )!;
  const handle = partOf(partOf(datagram, key), 'handle');
  remove(handle, (name) => !['constructor', 'close', 'fd'].includes(name));
}

function closeNames(): void {
  remove(
    partOf(new dns.Resolver(), '_handle'),
    (name) => !['constructor', 'cancel'].includes(name),
  );
  for (const names of [dns, dns.promises]) {
    const asking = Object.keys(names).filter((name) =>
      /^(?:lookup|resolve|reverse|setServers|getServers)/.test(name),
    );
    refuse(names, asking);
  }
}

/** Returns a part of a Node object that its types do not name. */
function partOf(whole: object, name: string | symbol): object {
  return (whole as Record<string | symbol, object>)[name]!;
}

function remove(handle: object, isGone: (name: string) => boolean): void {
  const shape = Object.getPrototypeOf(handle) as Methods;
  for (const name of Object.getOwnPropertyNames(shape).filter(isGone)) delete shape[name];
}

function refuse(module: object, names: string[]): void {
  for (const name of names)
    // No arrow function: classes are called by `new`.
    (module as Methods)[name] = function refused() {
      throw Object.assign(new Error(`A tool may not use ${name}.`), { code: 'ERR_ACCESS_DENIED' });
    };
}
