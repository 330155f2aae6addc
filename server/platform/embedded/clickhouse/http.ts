import { createHash, randomUUID, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { literal } from '../../clickhouse/quote.ts';
import { streamInsert } from './insert.ts';
import type { Pipes } from './pipes.ts';
import { stopOperation, streamResult } from './read.ts';
import { streamThroughPipe } from './piped.ts';
import type { Operation, Outcome } from './read.ts';
import { preambleOf, readRequest } from './request.ts';
import type { ClickHouseRequest } from './request.ts';
import { fault, faultOf } from './session.ts';
import type { Engine, Fault } from './session.ts';
import { readStatement } from './statement.ts';
import type { Statement } from './statement.ts';

/** The parts that the engine's HTTP front uses. */
export type HttpOptions = {
  engine: Engine;
  pipes: Pipes;
  password: string;
  /** Called when the engine has lost a thread for ever. */
  onStuck(): void;
};

const chunkBytes = 512 * 1024;
// As long as a ClickHouse server accepts: parameters are part of the URL.
const addressBytesMax = 1024 * 1024;

/**
 * ClickHouse's HTTP interface in front of the engine, as far as `@clickhouse/client` uses it. Every
 * request needs the user `sluice` and the password. Guarantee: an answer that ends cleanly with
 * status 200 is complete; an aborted request stops its query.
 */
export function createClickHouseServer(options: HttpOptions): Server {
  const expected = digest(`Basic ${Buffer.from(`sluice:${options.password}`).toString('base64')}`);
  const server = createServer(
    {
      highWaterMark: chunkBytes,
      maxHeaderSize: addressBytesMax,
      keepAliveTimeout: 30_000,
      // A busy client may still send on an idle socket that has expired.
      keepAliveTimeoutBuffer: 30_000,
      requestTimeout: 0,
    },
    (request, response) => {
      const known = timingSafeEqual(digest(request.headers.authorization ?? ''), expected);
      void (known ? answer(options, request, response) : refuse(request, response)).catch(
        (error: unknown) => {
          if (response.headersSent) response.destroy();
          else
            sendFault(
              request,
              response,
              error instanceof RangeError
                ? fault(1000, 'UNKNOWN_EXCEPTION', error.message)
                : faultOf(error),
            );
        },
      );
    },
  );
  return server;
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

async function refuse(request: IncomingMessage, response: ServerResponse): Promise<void> {
  response.setHeader('WWW-Authenticate', 'Basic realm="ClickHouse"');
  sendFault(
    request,
    response,
    fault(
      516,
      'AUTHENTICATION_FAILED',
      'Authentication failed: password is incorrect, or there is no user with such name.',
    ),
  );
}

function sendFault(
  request: IncomingMessage,
  response: ServerResponse,
  { code, status, text }: Fault,
): void {
  if (response.destroyed || response.writableEnded) return;
  // The rest of the request must be read, or the client sees a broken connection instead of the
  // reason.
  request.resume();
  // Only an answer through a pipe can have begun: its body is the error.
  if (!response.headersSent) {
    response.statusCode = status;
    response.setHeader('X-ClickHouse-Exception-Code', code);
    response.setHeader('Content-Type', 'text/plain; charset=UTF-8');
  }
  response.end(`${text}\n`);
}

async function answer(
  options: HttpOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (request.url === '/ping') {
    response.end('Ok.\n');
    return;
  }
  const gone = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) gone.abort();
  });
  const read = await readRequest(request);
  if ('fault' in read) return sendFault(request, response, read.fault);
  const statement = readStatement(read.text);
  if (statement.kind === 'refused')
    return sendFault(
      request,
      response,
      fault(62, 'SYNTAX_ERROR', `Syntax error: ${statement.reason}`),
    );
  const format = formatFault(options.engine, statement, read);
  if (format) return sendFault(request, response, format);
  const query_id = read.query_id ?? randomUUID();
  const label = `${query_id} ${randomUUID()}`;
  let pipe: string;
  try {
    pipe = await options.pipes.take(gone.signal);
  } catch {
    return;
  }
  response.setHeader('X-ClickHouse-Query-Id', query_id.replace(/[^\x21-\x7e]/g, '?'));
  response.setHeader('X-ClickHouse-Server-Display-Name', 'sluice');
  response.setHeader('X-ClickHouse-Timezone', 'UTC');
  const operation: Operation = {
    engine: options.engine,
    pipe,
    preamble: preambleOf(read, label),
    label,
    is_plain: read.is_plain,
    gone: gone.signal,
  };
  let outcome: Outcome = { stuck: true };
  try {
    outcome = gone.signal.aborted ? {} : await run(operation, statement, read, response);
  } finally {
    options.pipes.give(
      pipe,
      !outcome.fault && !outcome.stuck && !gone.signal.aborted && !read.is_piped,
    );
  }
  if (outcome.fault)
    sendFault(request, response, await inOwnWords(outcome.fault, operation, statement));
  if (outcome.stuck) options.onStuck();
}

/** Names of formats become part of the SQL, and an unknown one makes the engine hang. */
function formatFault(
  engine: Engine,
  statement: Statement,
  read: ClickHouseRequest,
): Fault | undefined {
  if (statement.kind === 'refused') return undefined;
  const name = statement.format ?? read.default_format;
  const use = engine.findFormat(name);
  if (!use) return fault(73, 'UNKNOWN_FORMAT', `Unknown format ${name.slice(0, 60)}.`);
  const side = statement.kind === 'insert' ? 'input' : 'output';
  if (use[`is_${side}`]) return undefined;
  return fault(73, 'UNKNOWN_FORMAT', `Format ${name} is not suitable for ${side}.`);
}

async function run(
  operation: Operation,
  statement: Statement,
  read: ClickHouseRequest,
  response: ServerResponse,
): Promise<Outcome> {
  const began = performance.now();
  if (statement.kind === 'read') {
    const format = statement.format ?? read.default_format;
    response.setHeader('X-ClickHouse-Format', format);
    response.setHeader('Content-Type', 'application/octet-stream');
    response.setHeader('X-ClickHouse-Summary', summary(began));
    const select = { before: statement.before, format, after: statement.after };
    return read.is_piped
      ? streamThroughPipe(operation, select, response)
      : streamResult(operation, select, response);
  }
  const outcome =
    statement.kind === 'insert'
      ? await streamInsert(operation, {
          ...statement,
          data: dataOf(read.text, statement.data_from, read.data),
        })
      : await runCommand(operation, statement, read, response);
  if (outcome.fault || statement.kind !== 'insert') return outcome;
  response.setHeader('X-ClickHouse-Summary', summary(began, outcome.rows));
  response.end();
  return outcome;
}

/** A syntax error must refer to the sent text, not to the one with our pipe. */
async function inOwnWords(
  told: Fault,
  { engine, pipe }: Operation,
  statement: Statement,
): Promise<Fault> {
  if (!told.text.includes(pipe) || (statement.kind !== 'read' && statement.kind !== 'insert'))
    return told;
  // Without its FORMAT: the parser takes the word as a name if an expression is missing.
  const sent =
    statement.kind === 'read'
      ? `${statement.before}${statement.after}`
      : `${statement.before}${statement.after}FORMAT ${statement.format}`;
  try {
    await engine.run(`SELECT formatQuery(${literal(sent)})`);
    return { ...told, text: told.text.replaceAll(pipe, 'the answer') };
  } catch (error) {
    return {
      ...faultOf(error),
      text: faultOf(error)
        .text.replace(/: In scope SELECT formatQuery[\s\S]*(?= \([A-Z_]+\)$)/, '')
        .replace(/: while executing 'FUNCTION formatQuery[\s\S]*(?= \([A-Z_]+\)$)/, ''),
    };
  }
}

/** Returns an answer in memory: definitions, SHOW, EXPLAIN and the like have small answers. */
async function runCommand(
  operation: Operation,
  statement: Statement,
  read: ClickHouseRequest,
  response: ServerResponse,
): Promise<Outcome> {
  if (statement.kind !== 'command') return {};
  const began = performance.now();
  for await (const chunk of read.data ?? []) {
    if (chunk.length > 0)
      return {
        fault: fault(
          36,
          'BAD_ARGUMENTS',
          'Only INSERT ... FORMAT and INSERT ... VALUES accept a body.',
        ),
      };
  }
  const { engine, gone, preamble } = operation;
  let isOver = false;
  const leave = (): void => {
    void stopOperation(operation, () => isOver);
  };
  gone.addEventListener('abort', leave, { once: true });
  try {
    const bytes = await engine.run(
      `${preamble}${statement.text}`,
      statement.format ?? read.default_format,
    );
    response.setHeader('X-ClickHouse-Summary', summary(began));
    response.setHeader('Content-Length', bytes.length);
    response.end(bytes);
    return {};
  } catch (error) {
    return { fault: faultOf(error) };
  } finally {
    isOver = true;
    gone.removeEventListener('abort', leave);
  }
}

async function* dataOf(
  text: string,
  from: number,
  body: AsyncIterable<Uint8Array> | undefined,
): AsyncIterable<Uint8Array> {
  if (from < text.length) yield Buffer.from(text.slice(from));
  if (body) yield* body;
}

/**
 * Returns the summary of a request. The engine reports no row counts of a SELECT, so they are zero,
 * as from a ClickHouse server before its first progress.
 */
function summary(began: number, written = 0): string {
  const zeros = [
    'read_rows',
    'read_bytes',
    'written_rows',
    'written_bytes',
    'total_rows_to_read',
    'result_rows',
    'result_bytes',
  ].map((name) => [name, '0']);
  return JSON.stringify({
    ...Object.fromEntries(zeros),
    read_rows: String(written),
    written_rows: String(written),
    elapsed_ns: String(Math.round((performance.now() - began) * 1e6)),
  });
}
