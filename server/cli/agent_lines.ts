import { Transform } from 'node:stream';
import type { Writable } from 'node:stream';
import { withoutNullArguments } from '../api/mcp/arguments.ts';

/** The protocol's library ends for good at a line that is longer, and answers nothing. */
const line_bytes_max = 10 * 1024 * 1024;

/**
 * Lets through the lines that are messages of JSON-RPC, as `withoutNullArguments` has them. Every
 * other one, but a blank one, is answered at once with a short error of the protocol: of such a
 * line the library says nothing to the agent, and to the log all that its schemas miss.
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
      refuse(-32600, 'Invalid Request: the line is no message of JSON-RPC.');
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
