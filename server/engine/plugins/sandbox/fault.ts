import { SourceMap } from 'node:module';
import type { SourceMapPayload } from 'node:module';
import { shapeOf } from '../../../platform/shape.ts';
import { PluginError } from '../plugin.ts';
import type { SandboxLimits } from './limits.ts';
import { ThrownError } from './protocol.ts';
import { parseJson } from '../../../platform/json/parse_json.ts';

/**
 * A fault of a call. `is_retry`: a retry may succeed, because the plugin said so (RetryError),
 * because its request got no answer, or because the sandbox ended meanwhile.
 */
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

type Place = { file?: string; line?: number; column?: number };

/**
 * Compiled code without its source map: the text to run, and a function that finds the place in the
 * package's own files.
 */
export type MappedCode = { text: string; locate(stack: string): Place };

// A tenth of a second of work, which a stack trace can cause for each of its frames.
const mappings_length_max = 300_000;
const frames_max = 5;

const map_comment = /\n\/\/# sourceMappingURL=data:application\/json;base64,([A-Za-z0-9+/=]+)\s*$/;
const thrown = shapeOf(ThrownError);

/**
 * Separates the source map from compiled code. Code without one runs as well; its faults then have
 * no place.
 */
export function readCode(code: string): MappedCode {
  const found = map_comment.exec(code);
  if (found === null) return { text: code, locate: () => ({}) };
  let sections: Section[] | undefined;
  return {
    text: code.slice(0, found.index),
    locate: (stack) => {
      sections ??= (
        JSON.parse(Buffer.from(found[1]!, 'base64').toString('utf8')) as { sections: Section[] }
      ).sections;
      for (const [, line, column] of stack
        .matchAll(/\bplugin\.js:(\d{1,9}):(\d{1,9})/g)
        .take(frames_max)) {
        const place = placeIn(sections, Number(line) - 1, Number(column) - 1);
        if (place !== undefined) return place;
      }
      return {};
    },
  };
}

/** The map of one file, from the line of the linked code on which it begins. */
type Section = { offset: { line: number; column: number }; map: SourceMapPayload };

/**
 * Returns the place in the package's files for one in the linked code, both counted from 0. It is
 * only the file if its map is too large, and undefined for code of no file.
 */
function placeIn(sections: Section[], line: number, column: number): Place | undefined {
  const section = sections.findLast(({ offset }) => offset.line <= line);
  if (section === undefined) return undefined;
  if (section.map.mappings.length > mappings_length_max) return { file: section.map.sources[0]! };
  // For one file only: the whole map of a large package would block the server for seconds.
  const entry = new SourceMap({
    version: 3,
    sections: [section],
  } as unknown as SourceMapPayload).findEntry(line, column);
  // A line without a mapping would get the previous one, which is another place.
  if (!('originalSource' in entry) || entry.generatedLine !== line) return undefined;
  return {
    file: entry.originalSource,
    line: entry.originalLine + 1,
    column: entry.originalColumn + 1,
  };
}

/** Returns the error that a plugin threw, as the sandbox reported it. */
export function thrownError(text: string, code: MappedCode): PluginCallError {
  const error: unknown = parseJson(text);
  if (!thrown.is(error))
    return new PluginCallError('runtime', 'The plugin threw something that cannot be read.', false);
  const place = code.locate(error.stack);
  const kind = error.name === 'SyntaxError' && place.file === undefined ? 'compile' : 'runtime';
  const said =
    error.name === 'Error' || error.is_retry ? error.message : `${error.name}: ${error.message}`;
  // The sentence is stored when a plugin is stopped for it, so it must be storable.
  const message = said.toWellFormed().replaceAll('\0', '\uFFFD');
  return new PluginCallError(
    kind,
    message || 'The plugin threw an error without a message.',
    error.is_retry,
    place,
  );
}

/** Returns the error of a call that exceeded its time or memory. */
export function faultError(
  reason: 'timeout' | 'memory',
  limits: SandboxLimits,
  place: Place,
): PluginCallError {
  if (reason === 'memory')
    return new PluginCallError(
      'memory',
      `The plugin used more than ${limits.memory_megabytes} MB of memory: keep less at a time.`,
      false,
    );
  const [slice, total] = [limits.slice_milliseconds / 1_000, limits.cpu_milliseconds / 1_000];
  return new PluginCallError(
    'timeout',
    `The plugin ran for more than ${slice} s without a pause, or used more than ${total} s of ` +
      'the processor in a call: do less at a time.',
    false,
    place,
  );
}
