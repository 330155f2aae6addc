import { Transform } from 'node:stream';
import type { Writable } from 'node:stream';
import { withoutNullArguments } from '../api/mcp/arguments.ts';

/** The protocol's library fails for good at a longer line, without an answer. */
const line_bytes_max = 10 * 1024 * 1024;

/**
 * Passes on lines that are messages of JSON-RPC, after `withoutNullArguments`. Answers every other
 * line except a blank one with a short error of the protocol, because the library would not tell
 * the agent and would log all schema errors.
 */
export function messageLines(isMessage: (value: unknown) => boolean, output: Writable): Transform {
  let begun: Buffer[] = [];
  let size = 0;
  const refuse = (code: number, message: string) =>
    output.write(`${JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id: null })}\n`);
  const wanted = (line: string): string | undefined => {
    if (line.trim() === '') return undefined;
    try {
      const message = withoutNullArguments(JSON.parse(line));
      if (isMessage(message)) return `${JSON.stringify(message)}\n`;
      refuse(-32600, 'Invalid Request: the line is no JSON-RPC message.');
    } catch {
      refuse(-32700, 'Parse error: the line is not valid JSON.');
    }
    return undefined;
  };
  const take = (part: Buffer) => {
    size += part.length;
    if (size <= line_bytes_max) begun.push(part);
    else begun = [];
  };
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      let rest = chunk;
      for (let end = rest.indexOf('\n'); end !== -1; end = rest.indexOf('\n')) {
        take(rest.subarray(0, end + 1));
        rest = rest.subarray(end + 1);
        const line = size > line_bytes_max ? undefined : wanted(Buffer.concat(begun).toString());
        if (line !== undefined) this.push(line);
        if (size > line_bytes_max) refuse(-32600, 'Invalid Request: the line is over 10 MiB long.');
        [begun, size] = [[], 0];
      }
      take(rest);
      done();
    },
  });
}
