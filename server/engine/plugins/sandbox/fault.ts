import { SourceMap } from 'node:module';
import type { SourceMapPayload } from 'node:module';
import { Compile } from 'typebox/compile';
import { PluginError } from '../plugin.ts';
import { ThrownError } from './protocol.ts';

/** A fault of a call. `is_retry`: the same call can succeed later, because the plugin said so (RetryError) or because the sandbox ended under it. */
export class PluginCallError extends PluginError {
  readonly is_retry: boolean;
  constructor(
    code: 'compile' | 'runtime' | 'timeout' | 'memory',
    message: string,
    is_retry: boolean,
    at: { file?: string; line?: number; column?: number } = {},
  ) {
    super(code, message, at);
    this.is_retry = is_retry;
  }
}

/** Code that the compiler made, parted: what is run, and how to find the place in the package's own files. */
export type MappedCode = { text: string; locate(stack: string): { file?: string; line?: number; column?: number } };

const map_comment = /\n\/\/# sourceMappingURL=data:application\/json;base64,([A-Za-z0-9+/=]+)\s*$/;
const thrown = Compile(ThrownError);

/** Takes the source map off compiled code. Code without one runs as well; its faults have no place then. */
export function readCode(code: string): MappedCode {
  const found = map_comment.exec(code);
  if (found === null) return { text: code, locate: () => ({}) };
  let map: SourceMap | undefined;
  return {
    text: code.slice(0, found.index),
    locate: (stack) => {
      map ??= new SourceMap(JSON.parse(Buffer.from(found[1]!, 'base64').toString('utf8')) as SourceMapPayload);
      for (const [, line, column] of stack.matchAll(/\bplugin\.js:(\d{1,9}):(\d{1,9})/g)) {
        const entry = map.findEntry(Number(line) - 1, Number(column) - 1);
        // Where a line has no mapping of its own, the one before it is given: that would be a place in another file.
        if ('originalSource' in entry && entry.generatedLine === Number(line) - 1) {
          return { file: entry.originalSource, line: entry.originalLine + 1, column: entry.originalColumn + 1 };
        }
      }
      return {};
    },
  };
}

/** The error for what a plugin threw, as the sandbox reported it. */
export function thrownError(text: string, code: MappedCode): PluginCallError {
  const error: unknown = parse(text);
  if (!thrown.Check(error)) return new PluginCallError('runtime', 'The plugin threw something that cannot be read.', false);
  const place = code.locate(error.stack);
  const kind = error.name === 'SyntaxError' && place.file === undefined ? 'compile' : 'runtime';
  const message = error.name === 'Error' || error.is_retry ? error.message : `${error.name}: ${error.message}`;
  return new PluginCallError(kind, message || 'The plugin threw an error without a message.', error.is_retry, place);
}

/** JSON from the sandbox; undefined for what is none. */
export function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
