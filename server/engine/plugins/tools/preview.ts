import type { Fields } from '../../../platform/fields.ts';
import type { PluginEvent } from '../running/read_events.ts';
import { toolEvent } from './event.ts';
import type { ToolEvent } from './event.ts';
import type { FilterGroup } from './filter/filter.ts';
import { filterFault } from './filter/filter_fault.ts';
import { readFilter } from './filter/read_filter.ts';
import { composeRequest } from './http_request/compose.ts';
import type { ComposedRequest } from './http_request/compose.ts';
import { isHttpRequest } from './http_request/definition.ts';
import { address_fields, judgeAddress, shown_secret } from './judge_address.ts';
import type { Reaching } from './judge_address.ts';
import { mappingFault, missingFields, shownField } from './mappings.ts';
import { MappingFault, resolveMapping } from './resolve.ts';
import type { ToolDefinition, ToolMapping } from './tool.ts';
import { unwantedReason } from './wanted.ts';

/** The result of one mapping for one event, as far as it is known without a request. */
export type MappingPreview = {
  /**
   * `waits`: for a host that is not allowed. `invalid`: the mapping is wrong, or creates no request
   * for the event.
   */
  outcome: 'sent' | 'waits' | 'filtered' | 'invalid';
  /** Why it is not sent. */
  reason: string | null;
  /** The filter for a form; null for an unreadable one. */
  filter: FilterGroup | null;
  filter_fault: string | null;
  /** The fields as the tool's code gets them. */
  fields: Fields | null;
  /** The request, for our own tool. */
  request: ComposedRequest | null;
};

/** The preview does not read a config's secrets. */
const shown_secrets = { secret: shown_secret, signing_secret: '' };

type PreviewOptions = Reaching & { sends_dollar: boolean; now_ms: number };

/** Maps the event by each mapping, even if others are invalid. Sends nothing. */
export async function previewMappings(
  definition: ToolDefinition,
  mappings: unknown[],
  event: PluginEvent,
  options: PreviewOptions,
): Promise<{ event: ToolEvent; results: MappingPreview[] }> {
  const called = toolEvent(event, options.sends_dollar);
  const preview = async (mapping: unknown): Promise<MappingPreview> => {
    const text = (mapping as Partial<ToolMapping> | null)?.subscribe;
    const filter = typeof text === 'string' ? readFilter(text) : '';
    const filter_fault = typeof text === 'string' ? filterFault(text) : undefined;
    const common = {
      filter: typeof filter === 'string' ? null : filter,
      filter_fault: filter_fault ?? null,
      fields: null,
      request: null,
    };
    const fault = mappingFault(mapping, definition.actions);
    if (fault !== undefined)
      return { ...common, outcome: 'invalid', reason: `The mapping ${fault}` };
    if (filter_fault !== undefined) return { ...common, outcome: 'invalid', reason: filter_fault };
    const one = mapping as ToolMapping;
    const unwanted = unwantedReason(one, event);
    const mapped = await mapEvent(definition, one, called, options);
    if (unwanted === undefined) return { ...common, ...mapped };
    return { ...common, ...mapped, outcome: 'filtered', reason: unwanted };
  };
  return { event: called, results: await Promise.all(mappings.map(preview)) };
}

async function mapEvent(
  definition: ToolDefinition,
  { partnerAction, mapping }: ToolMapping,
  event: ToolEvent,
  { now_ms, ...reaching }: PreviewOptions,
): Promise<Pick<MappingPreview, 'outcome' | 'reason' | 'fields' | 'request'>> {
  const invalid = (reason: string, fields: Fields | null = null) =>
    ({ outcome: 'invalid', reason, fields, request: null }) as const;
  const none = { outcome: 'sent', reason: null, fields: null, request: null } as const;
  try {
    if (isHttpRequest(definition)) {
      const request = composeRequest(event, mapping, shown_secrets, now_ms);
      return { ...none, request, ...(await judgeAddress(request.url, reaching)) };
    }
    // The library omits empty texts.
    const fields = Object.fromEntries(
      Object.entries(resolveMapping(mapping, event)).filter(
        ([key, value]) => value !== '' && !key.startsWith('__'),
      ),
    );
    const action = definition.actions[partnerAction]!;
    const missing = missingFields(action, fields).map((key) => shownField(key, action));
    if (missing.length > 0)
      return invalid(`The event has no value for ${missing.join(', ')}.`, fields);
    const address = fields[address_fields[definition.directory] ?? ''];
    return { ...none, fields, ...(await judgeAddress(address, reaching)) };
  } catch (error) {
    if (error instanceof MappingFault) return invalid(error.message);
    throw error;
  }
}
