import { api } from './api.ts';
import { Buffer, TextDecoder, TextEncoder, atob, btoa } from './bytes.ts';
import { console } from './console.ts';
import { crypto } from './crypto.ts';
import { Headers, Response, fetch } from './fetch.ts';
import { capture } from './meta.ts';
import { RetryError } from './retry_error.ts';
import { clearTimeout, setTimeout } from './timers.ts';
import { URL } from './url.ts';
import { URLSearchParams } from './url_search.ts';
import { zlib } from './zlib.ts';

const platform_object = Object.freeze({ capture, api: Object.freeze(api) });

/** Global names for a plugin's code, in addition to those of the language. */
export const globals: Record<string, unknown> = {
  Buffer,
  TextDecoder,
  TextEncoder,
  atob,
  btoa,
  console,
  crypto,
  Headers,
  Response,
  fetch,
  RetryError,
  clearTimeout,
  setTimeout,
  URL,
  URLSearchParams,
  queueMicrotask: (callback: () => void) => void Promise.resolve().then(callback),
  sluice: platform_object,
  // The name that existing plugins use.
  posthog: platform_object,
};

/**
 * Names of the language that plugins do not need but attackers do: shared memory is a clock, and
 * blocks threads.
 */
export const removed_globals = ['WebAssembly', 'SharedArrayBuffer', 'Atomics'];

const modules: Record<string, Record<string, unknown>> = {
  crypto,
  url: { URL, URLSearchParams },
  buffer: { Buffer, atob, btoa },
  util: { TextDecoder, TextEncoder },
  zlib,
  'node-fetch': { default: fetch, fetch, Headers, Response },
  '@posthog/plugin-scaffold': { RetryError },
};

/**
 * Returns the import of a module outside the package; `needed` are the imported names. Throws an
 * Error that lists the existing names.
 */
export function requireModule(name: unknown, needed: readonly string[] = []): unknown {
  const known = String(name).replace(/^node:/, '');
  if (/^\.{0,2}\//.test(known))
    throw new Error(
      `The package has no file ${known} for this import. Correct the path (from the file that ` +
        'imports), or add the file.',
    );
  if (!Object.hasOwn(modules, known)) {
    throw new Error(
      `${String(name)} cannot be imported: a plugin has its own files and ` +
        `${Object.keys(modules).join(', ')}. Bundle other modules into these files.`,
    );
  }
  const missing = needed.filter((one) => !Object.hasOwn(modules[known]!, one));
  if (missing.length > 0)
    throw new Error(
      `${known} has no ${missing.join(', ')} here: it has ` +
        `${Object.keys(modules[known]!).join(', ')}. Bundle other modules into the files.`,
    );
  return 'default' in modules[known]!
    ? { ...modules[known], __esModule: true }
    : { ...modules[known] };
}
