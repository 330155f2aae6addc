// Creates and sends hostile bodies in its own thread, so that the client's work and memory do not
// affect the measured event loop.
import { randomUUID } from 'node:crypto';
import { parentPort } from 'node:worker_threads';
import { request } from 'undici';
import type { FuzzedDocument, Operation } from '../../test/fuzz/operations.ts';
import { doorBodies, eventBodies, fieldBodies, plainBodies } from './bodies.ts';
import type { HostileBody } from './bodies.ts';

/** A request to the thread: list the shapes of a route, create one body, or send it. */
export type Asked =
  | { kind: 'list'; operation: Operation; limit: number; document: FuzzedDocument }
  | { kind: 'make'; index: number }
  | { kind: 'send'; url: string; method: string; headers: Record<string, string> };
/** The thread's answer: the shapes; nothing; or the status, 0 for a body refused on its way. */
export type Told = string[] | number | null;

let bodies: HostileBody[] = [];
let created: { bytes: Uint8Array<ArrayBuffer>; headers: Record<string, string> } | undefined;

function bodiesOf(operation: Operation, limit: number, document: FuzzedDocument): HostileBody[] {
  const resolve = (ref: string) => document.components.schemas[ref.split('/').at(-1)!]!;
  if (operation.is_door) return [...plainBodies(limit), ...doorBodies(limit)];
  return operation.path.endsWith('/events/')
    ? [...plainBodies(limit), ...eventBodies(limit)]
    : [...plainBodies(limit), ...fieldBodies(operation, resolve, limit)];
}

async function answer(asked: Asked): Promise<Told> {
  switch (asked.kind) {
    case 'list':
      bodies = bodiesOf(asked.operation, asked.limit, asked.document);
      return bodies.map(({ shape }) => shape);
    case 'make': {
      const { bytes, headers } = bodies[asked.index]!;
      created = { bytes: bytes(), headers: { ...headers } };
      // The server answers a repeated key from memory.
      if ('idempotency-key' in headers) created.headers['idempotency-key'] = randomUUID();
      return null;
    }
    case 'send': {
      const { bytes, headers } = created!;
      try {
        const { statusCode, body } = await request(asked.url, {
          method: asked.method as 'POST',
          headers: { ...asked.headers, ...headers },
          body: bytes,
        });
        await body.dump({ limit: 1e9 });
        return statusCode;
      } catch {
        return 0;
      }
    }
  }
}

parentPort?.on('message', (asked: Asked) => {
  void answer(asked).then((told) => parentPort?.postMessage(told, []));
});
