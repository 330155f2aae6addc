import { invalidPackage } from '../plugin.ts';
import { sendingOf } from '../running/loaded_tool.ts';
import type { PluginEvent } from '../running/read_events.ts';
import { PluginCallError } from '../sandbox/fault.ts';
import type { LoadedPlugin } from '../sandbox/sandbox.ts';
import { readOutcome } from '../sandbox/tool_outcome.ts';
import { mappingName, readMappings } from '../tools/mappings.ts';
import { mappings_key } from '../tools/settings.ts';
import type { ToolDefinition } from '../tools/tool.ts';

/** The tool that is tried: with `sends`, the tool is also asked whether it takes the settings. */
type ToolTrial = {
  plugin: LoadedPlugin;
  definition: ToolDefinition;
  config: Record<string, unknown>;
  event: PluginEvent;
  sends: boolean;
  signal: AbortSignal;
};

/** Sends the event by each mapping, whatever becomes of the others; `call` notes each. */
export async function runTool(
  { plugin, definition, config, event, sends, signal }: ToolTrial,
  call: (name: string, run: () => Promise<unknown>) => Promise<unknown>,
): Promise<void> {
  const mappings = readMappings(config[mappings_key], definition);
  if (typeof mappings === 'string') throw invalidPackage(`The mappings are wrong. ${mappings}`);
  const run = async (method: 'test' | 'send', payload: object): Promise<unknown> => {
    const outcome = readOutcome(await plugin.call(method, payload, signal));
    if (!('reason' in outcome)) return outcome.kind;
    throw new PluginCallError('runtime', outcome.reason, outcome.kind === 'retry');
  };
  for (const [at, mapping] of mappings.entries()) {
    const sending = sendingOf(definition, config, event, mapping);
    if (at === 0 && sends) await call('The connection', () => run('test', sending));
    await call(mappingName(mapping), () => run('send', sending));
  }
}
