import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { tool_package } from '../sandbox/tool_library.ts';

/**
 * A destination of the library that works without an operator's secret. `id` comes from its maker.
 */
export type ToolEntry = {
  directory: string;
  id: string;
  slug: string;
  name: string;
  description: string;
  /** Hosts that its code names; `*.` stands for a part that settings decide. */
  hosts: string[];
  /** Variables of the operator that its code reads. */
  variables?: string[];
  /** True if its client makes connections of its own. */
  opens_sockets?: true;
};

let tools: ToolEntry[] | undefined;

/**
 * Lists the tools of the catalogue by name; `npm run docs:tools` writes them. Their makers'
 * descriptions refer to the original platform, so we wrote our own.
 */
export function listTools(): ToolEntry[] {
  tools ??= (
    JSON.parse(readFileSync(join(import.meta.dirname, 'tools.json'), 'utf8')) as ToolEntry[]
  ).map((entry) => ({ ...entry, description: `Sends events to ${entry.name}.` }));
  return tools;
}

const scheme = `npm:${tool_package}/`;

/** Returns the address of a tool: a part of the package. */
export function toolUrl(directory: string): string {
  return scheme + directory;
}

/** Returns the tool at an address; undefined for any other address. */
export function findTool(url: string): ToolEntry | undefined {
  return url.startsWith(scheme)
    ? listTools().find(({ directory }) => toolUrl(directory) === url)
    : undefined;
}
