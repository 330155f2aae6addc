import { build } from 'esbuild';
import { fileURLToPath } from 'node:url';
import type { Fault } from './fault_proxy.ts';

/** A client of an unchanged package, and the events that its page's program believes it sent. */
export type BrowserClient = {
  /** The package, under its installed name. */
  name: string;
  /** The program, in `pages/`, and the name by which it imports the package. */
  program: string;
  imports?: string;
  /** Sends each event with its name and its own property `sent`; after `identify` as `ada`. */
  wanted: readonly (readonly [event: string, who: 'visitor' | 'ada', sent?: unknown])[];
  /** The faults after which it does not retry the request; it reports them in the console. */
  gives_up_after?: readonly Fault[];
  /** Its events have no uuid: a repeated event is stored twice. */
  names_no_events?: boolean;
};

const bought = ['bought', 'visitor', 'Zürich 😀'] as const;
const identified = ['$identify', 'ada'] as const;
const left = ['left', 'ada', 2] as const;
const grouped = ['$groupidentify', 'ada'] as const;
const posthog_events = [['$pageview', 'visitor'], bought, identified, grouped, left] as const;
const segment_events = [['$pageview', 'visitor', 1], bought, identified, grouped, left] as const;

/** The clients that run in browsers, unchanged. */
export const browser_clients: readonly BrowserClient[] = [
  ...['posthog-js', 'posthog-js-2025', 'posthog-js-2024', 'posthog-js-2023'].map((name) => ({
    name,
    program: 'posthog_js',
    imports: 'posthog-js',
    wanted: posthog_events,
    names_no_events: name === 'posthog-js-2023',
  })),
  { name: 'posthog-js-lite', program: 'posthog_js_lite', wanted: [bought, identified, left] },
  { name: '@segment/analytics-next', program: 'segment', wanted: segment_events },
  { name: '@rudderstack/analytics-js', program: 'rudderstack', wanted: segment_events },
  {
    name: '@snowplow/browser-tracker',
    program: 'snowplow',
    wanted: [['$pageview', 'visitor'], ['bought', 'ada', 'Zürich 😀'], left],
    // It keeps cut or refused events for the next event.
    gives_up_after: ['cut before', 'cut within', 'cut after', '503'],
  },
  {
    name: '@jitsu/js',
    program: 'jitsu',
    wanted: segment_events,
    // A browser itself resends a request on a kept connection, so such a request arrives.
    gives_up_after: ['cut before', 'cut within', 'cut after', '503'],
  },
];

/** The program of a client with its package, as one script. */
export async function bundled({ name, program, imports }: BrowserClient): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL(`./pages/${program}.js`, import.meta.url))],
    ...(imports === undefined || imports === name ? {} : { alias: { [imports]: name } }),
    bundle: true,
    write: false,
    format: 'iife',
    platform: 'browser',
    target: 'es2022',
    logLevel: 'silent',
  });
  return outputFiles[0]!.text;
}
