import { useEffect, useState } from 'react';
import type { MappingPreviews } from '../../../server/api/plugin_configs/preview/schema.ts';
import type { ToolMapping } from '../../../server/api/plugins/schema.ts';
import { ask } from '../../http/ask.ts';
import { pathTo } from '../../http/path.ts';
import type { Attachment } from '../config_fields.ts';
import { sample_event } from '../editor/templates.ts';

/** The settings of the form, as they would be saved. */
type TypedSettings = {
  config: Record<string, string | Attachment | null>;
  allowed_hosts: string[];
};

/**
 * The tool of mappings, its project, and its allowed hosts; none for a destination with its own
 * code. `settings` reads what a form would save.
 */
export type ToolPlace = {
  project_id: string;
  plugin_id: number;
  config_id?: number | undefined;
  allowed_hosts?: string[];
  settings?: (form: HTMLFormElement) => TypedSettings;
};

/** The server's preview of mappings: the filter of each, and the result for the event. */
export type Previewed = MappingPreviews & { of: readonly ToolMapping[] };

/** Pause in typing after which the mappings are previewed. */
const pause_ms = 400;

/**
 * Lets the server map an event after each pause in typing; without `event_uuid`, a sample. Returns
 * the latest answer; undefined before the first one. `fault` is the reason for a missing answer.
 */
export function usePreview(
  { project_id, plugin_id, allowed_hosts }: ToolPlace,
  mappings: readonly ToolMapping[],
  sends_dollar: boolean,
  event_uuid: string | undefined,
): { previewed: Previewed | undefined; fault: string | undefined } {
  const [previewed, setPreviewed] = useState<Previewed>();
  const [fault, setFault] = useState<string>();
  const text = JSON.stringify({ mappings, allowed_hosts });
  useEffect(() => {
    const ending = new AbortController();
    const preview = async () => {
      const { mappings: of, ...reach } = JSON.parse(text) as {
        mappings: ToolMapping[];
        allowed_hosts?: string[];
      };
      const outcome = await ask(
        'POST',
        pathTo('/api/projects/:project_id/plugin_configs/preview/', { project_id }),
        {
          body: {
            plugin: plugin_id,
            mappings: of,
            sends_dollar,
            ...reach,
            ...(event_uuid === undefined ? { event: sample_event } : { event_uuid }),
          },
          signal: ending.signal,
        },
      );
      setFault(outcome.ok ? undefined : outcome.problem.message);
      if (outcome.ok) setPreviewed({ ...outcome.body, of });
    };
    // It only throws an abort.
    const timer = setTimeout(() => void preview().catch(() => undefined), pause_ms);
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [project_id, plugin_id, text, sends_dollar, event_uuid]);
  return { previewed, fault };
}

type Result = MappingPreviews['results'][number];

/** Returns a mapping's result for an event as a state. */
export function previewState({ outcome }: Pick<Result, 'outcome'>) {
  if (outcome === 'sent') return { shape: '●', word: 'Would be sent', tone: 'good' } as const;
  if (outcome === 'waits')
    return { shape: '◐', word: 'Would wait for an allowed host', tone: 'warn' } as const;
  return outcome === 'filtered'
    ? ({ shape: '○', word: 'Not sent', tone: 'muted' } as const)
    : ({ shape: '▲', word: 'Cannot be sent', tone: 'warn' } as const);
}

/** Returns the request, or the fields, as text. */
export function previewText({ request, fields }: Pick<Result, 'request' | 'fields'>): string {
  if (request === null) return fields === null ? '' : laidOut(fields);
  const { method, url, headers, body } = request;
  const lines = headers.map(([name, value]) => `${name}: ${value}`);
  return [`${method} ${url}`, ...lines, ...(body === null ? [] : ['', laidOut(body)])].join('\n');
}

/** Returns JSON on several lines; any other text unchanged. */
function laidOut(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    return text;
  }
}
