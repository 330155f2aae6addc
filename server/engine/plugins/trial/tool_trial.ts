import { invalidPackage } from '../plugin.ts';
import { sendingOf } from '../running/loaded_tool.ts';
import type { PluginEvent } from '../running/read_events.ts';
import { PluginCallError } from '../sandbox/fault.ts';
import type { LoadedPlugin } from '../sandbox/sandbox.ts';
import { readOutcome } from '../sandbox/tool_outcome.ts';
import type { ToolOutcome } from '../sandbox/tool_outcome.ts';
import { mappingName, soundMappings } from '../tools/mappings.ts';
import { findVendor } from '../oauth/vendors.ts';
import { mappings_key } from '../tools/settings.ts';
import type { ToolDefinition } from '../tools/tool.ts';
import { unwantedReason } from '../tools/wanted.ts';

/** The tool to try; with `sends`, the tool is also asked whether it accepts the settings. */
type ToolTrial = {
  plugin: LoadedPlugin;
  definition: ToolDefinition;
  config: Record<string, unknown>;
  event: PluginEvent;
  sends: boolean;
  signal: AbortSignal;
};

type Sending = ReturnType<typeof sendingOf>;

/** Sends the event by each mapping, even if others fail; `call` records each. */
export async function runTool(
  { plugin, definition, config, event, sends, signal }: ToolTrial,
  call: (name: string, run: () => Promise<unknown>) => Promise<unknown>,
): Promise<void> {
  const mappings = soundMappings(config[mappings_key], definition);
  const usesOauth = findVendor(definition.directory) !== undefined;
  if (usesOauth && sends)
    throw invalidPackage(
      'A test sends nothing with the tokens of a connection. Look at the requests instead.',
    );
  if (typeof mappings === 'string') throw invalidPackage(`The mappings are wrong. ${mappings}`);
  const run = async (method: 'test' | 'send', payload: object): Promise<unknown> => {
    return resultOf(readOutcome(await plugin.call(method, payload, signal)));
  };
  for (const [at, mapping] of mappings.entries()) {
    const sent = sendingOf(definition, config, event, mapping);
    const sending = usesOauth ? withPlaceholder(sent) : sent;
    if (at === 0 && sends) await call('The connection', () => run('test', sending));
    await call(
      mappingName(mapping),
      async () => unwantedReason(mapping, event) ?? run('send', sending),
    );
  }
}

/** Returns the result of a sending call; throws the message of a failed one. */
export function resultOf(outcome: ToolOutcome): string {
  if (!('reason' in outcome)) return outcome.kind;
  throw new PluginCallError('runtime', outcome.reason, outcome.kind === 'retry');
}

/** Adds a placeholder for the settings that a connection would add. */
function withPlaceholder(sending: Sending): Sending {
  const oauth = { access_token: 'the-access-token' };
  return { ...sending, settings: { ...sending.settings, oauth } };
}
