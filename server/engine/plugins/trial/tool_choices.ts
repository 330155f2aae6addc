import { isFields } from '../../../platform/fields.ts';
import type { Fields } from '../../../platform/fields.ts';
import { OutboundRefused } from '../../../platform/outbound/outbound_faults.ts';
import type { ToolCall } from '../oauth/tokens.ts';
import { HoldError } from '../running/hold.ts';
import { toolPlace } from '../running/loaded_tool.ts';
import { openSecretMask } from '../running/secret_mask.ts';
import type { SecretMask } from '../running/secret_mask.ts';
import { PluginCallError } from '../sandbox/fault.ts';
import type { PluginOutbound } from '../sandbox/network/plugin_sockets.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { readOutcome } from '../sandbox/tool_outcome.ts';
import { MappingFault, resolveMapping } from '../tools/resolve.ts';
import { toolSettings } from '../tools/settings.ts';
import { toolCode } from '../tools/tool.ts';
import type { ToolDefinition } from '../tools/tool.ts';
import { openTrialHost } from './trial_host.ts';

/** A value that the tool offers for a field. */
export type ToolChoice = { value: string; label: string; description: string | null };

/** Why there are no choices. */
export type ChoicesFault = {
  code: 'denied' | 'host_not_allowed' | 'timeout' | 'limited' | 'not_ready' | 'refused';
  /** Says what happened and what to do. */
  detail: string;
  /** Hosts that the tool asked for, and that it may not reach. */
  hosts: string[];
};

/** The choices of a field; `omitted` is the number of those that were too many. */
export type ToolChoices = {
  choices: ToolChoice[];
  next_page: string | null;
  omitted: number;
  error: ChoicesFault | null;
};

/** The question for the choices of a field, with the settings and the mapping so far. */
export type ChoicesQuestion = {
  definition: ToolDefinition;
  config: Record<string, unknown>;
  /** Values that no answer may repeat. */
  secrets: readonly unknown[];
  allowed_hosts: string[];
  action: string;
  field: string;
  mapping: Fields;
  page: string | null;
};

type Parts = {
  sandbox: Pick<Sandbox, 'loadAlone' | 'toolLibrary'>;
  outbound: PluginOutbound;
  /** Adds the access token of a connection to the settings of a call. */
  withTokens(call: ToolCall, hide: SecretMask['hide']): ToolCall;
};

/** Requests of a tool for one answer: some ask for page after page. */
const requests_max = 100;
const value_length_max = 1_000;
const label_length_max = 300;
/** The start of a process comes on top of the call. */
const start_milliseconds = 30_000;

/**
 * Asks a tool which values a field may have, in a process of its own that ends with the answer. The
 * tool gets secrets for this call alone. A fault of the tool is a part of the result.
 */
export async function askToolChoices(
  { sandbox, outbound, withTokens }: Parts,
  question: ChoicesQuestion,
  call_milliseconds = 15_000,
): Promise<ToolChoices> {
  const { definition, config, action, field, allowed_hosts, page } = question;
  const mask = openSecretMask();
  await mask.hide(question.secrets);
  const { services, refused_hosts } = openTrialHost();
  const signal = AbortSignal.timeout(start_milliseconds + call_milliseconds);
  const payload = {
    settings: toolSettings(definition.settings, config),
    action,
    field,
    payload: plainValues(question.mapping),
    page,
  };
  const failed = (fault: Omit<ChoicesFault, 'hosts'>): ToolChoices => {
    const { code, detail } = fault;
    const error = { code, detail: mask.mask(detail), hosts: [...refused_hosts] };
    return { choices: [], next_page: null, omitted: 0, error };
  };
  try {
    const said = await sandbox.loadAlone(
      {
        id: 'the choices of a field',
        code: toolCode(definition.directory),
        config: {},
        ...toolPlace(sandbox, definition, 'choices'),
        allowed_hosts,
        host: services,
        outbound: withinBounds(outbound),
        limits: { call_milliseconds },
      },
      signal,
      (tool) => withTokens((...one) => tool.call(...one), mask.hide)('choices', payload, signal),
    );
    const fault = faultOfOutcome(said);
    return fault === undefined ? readChoices(said, mask) : failed(fault);
  } catch (error) {
    if (signal.aborted) return failed(late(start_milliseconds + call_milliseconds));
    const fault = faultOfError(error, [...refused_hosts], call_milliseconds);
    if (fault === undefined) throw error;
    return failed(fault);
  }
}

const or_type = 'Or type the value.';

function late(milliseconds: number): Omit<ChoicesFault, 'hosts'> {
  const detail = `The tool did not answer within ${milliseconds / 1_000} s. Try again. ${or_type}`;
  return { code: 'timeout', detail };
}

/** Why the tool gave no choices; undefined: it gave some. */
function faultOfOutcome(said: unknown): Omit<ChoicesFault, 'hosts'> | undefined {
  const outcome = readOutcome(said);
  if (!('reason' in outcome)) return undefined;
  const { kind, status } = outcome;
  // Functions throw plain errors, whose kind says nothing.
  const reason = outcome.reason.replace(/^Error: /, '');
  if (kind === 'denied')
    return {
      code: 'denied',
      detail:
        `The tool refuses the settings (${status ?? 'no status'}). Check the key, and whether it ` +
        `may read this. ${or_type} The tool says: ${reason}`,
    };
  if (status === 429)
    return {
      code: 'limited',
      detail: `The tool takes no more requests now. Try again in a minute. ${or_type}`,
    };
  if (kind === 'retry')
    return {
      code: status === null ? 'timeout' : 'refused',
      detail: `The tool does not answer now. Try again later. ${or_type} ${reason}`,
    };
  return { code: 'refused', detail: `The tool gives no choices: ${reason} ${or_type}` };
}

function faultOfError(
  error: unknown,
  hosts: string[],
  call_milliseconds: number,
): Omit<ChoicesFault, 'hosts'> | undefined {
  if (error instanceof HoldError) return { code: 'not_ready', detail: error.message };
  if (!(error instanceof PluginCallError)) return undefined;
  if (hosts.length > 0)
    return {
      code: 'host_not_allowed',
      detail: `The tool may not reach ${hosts.join(', ')}. Add it to the allowed hosts. ${or_type}`,
    };
  if (error.code === 'timeout') return late(call_milliseconds);
  return { code: 'refused', detail: `The tool gives no choices: ${error.message} ${or_type}` };
}

/** The way out for so many requests. */
function withinBounds({ fetch, ...others }: PluginOutbound): PluginOutbound {
  let count = 0;
  return {
    ...others,
    fetch: async (url, init) => {
      count += 1;
      if (count > requests_max)
        throw new OutboundRefused(`It sent more than ${requests_max} requests.`);
      return fetch(url, init);
    },
  };
}

/** The values of a mapping that no event decides. */
function plainValues(mapping: Fields): Fields {
  const entries = Object.entries(mapping).flatMap(([key, value]) => {
    try {
      return Object.entries(resolveMapping({ [key]: value }, {}));
    } catch (error) {
      if (error instanceof MappingFault) return [];
      throw error;
    }
  });
  return Object.fromEntries(entries.filter(([, value]) => value !== ''));
}

/** Reads what a tool's process gives, which may be anything. */
function readChoices(said: unknown, mask: SecretMask): ToolChoices {
  const { choices, omitted, next_page } = said as Record<string, unknown>;
  const shown = (text: string, length_max: number) =>
    mask.mask(text.toWellFormed().replaceAll('\0', '\uFFFD')).slice(0, length_max).toWellFormed();
  const values = new Map<string, ToolChoice>();
  for (const one of Array.isArray(choices) ? (choices as unknown[]) : []) {
    if (!isFields(one)) continue;
    const value = textOf(one['value']);
    // A value that is cut would be another one.
    if (value === undefined || value === '' || value.length > value_length_max) continue;
    const label = textOf(one['label']) ?? '';
    const description = textOf(one['description']);
    const choice = {
      value: shown(value, value_length_max),
      label: shown(label === '' ? value : label, label_length_max),
      description: description === undefined ? null : shown(description, label_length_max),
    };
    if (!values.has(choice.value)) values.set(choice.value, choice);
  }
  const next = textOf(next_page);
  const isPage = next !== undefined && next !== '' && next.length <= value_length_max;
  return {
    choices: [...values.values()],
    next_page: isPage ? next : null,
    omitted: Number.isSafeInteger(omitted) ? (omitted as number) : 0,
    error: null,
  };
}

/** A value of a choice as text. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
}
