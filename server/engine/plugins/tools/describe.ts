import type { Sandbox } from '../sandbox/sandbox.ts';
import type { ToolLibrary } from '../sandbox/tool_library.ts';
import { toolProgram } from '../sandbox/tool_program.ts';
import { openTrialHost } from '../trial/trial_host.ts';
import { toolCode } from './tool.ts';
import type { ToolDescription } from './tool.ts';

/** Loads one destination in a temporary process, and returns its description. */
export function describeTool(
  sandbox: Pick<Sandbox, 'loadAlone'>,
  library: ToolLibrary,
  directory: string,
  signal: AbortSignal,
): Promise<ToolDescription> {
  const instance = {
    id: `the description of ${directory}`,
    code: toolCode(directory),
    config: {},
    allowed_hosts: [],
    host: openTrialHost().services,
    process: { name: 'descriptions', program: () => toolProgram(library) },
  };
  return sandbox.loadAlone(
    instance,
    signal,
    (tool) => tool.call('describe', null, signal) as Promise<ToolDescription>,
  );
}
