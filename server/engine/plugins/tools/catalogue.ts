import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { tool_package } from '../sandbox/tool_library.ts';

/** A destination of the library that works without an operator's secret. `id` is its maker's. */
export type ToolEntry = {
  directory: string;
  id: string;
  slug: string;
  name: string;
  description: string;
  /** Hosts that its code names; `*.` stands for what settings decide. */
  hosts: string[];
  /** Variables of the operator that its code reads. */
  variables?: string[];
  /** Its client makes connections of its own. */
  opens_sockets?: true;
};

let tools: ToolEntry[] | undefined;

/**
 * The tools that the catalogue offers, by name; `npm run docs:tools` writes them. Their makers' own
 * descriptions speak of the platform that they were made for, so they have one of ours.
 */
export function listTools(): ToolEntry[] {
  tools ??= (
    JSON.parse(readFileSync(join(import.meta.dirname, 'tools.json'), 'utf8')) as ToolEntry[]
  ).map((entry) => ({ ...entry, description: `Sends events to ${entry.name}.` }));
  return tools;
}

const scheme = `npm:${tool_package}/`;

/** The address of a tool: a part of the package. */
export function toolUrl(directory: string): string {
  return scheme + directory;
}

/** The tool behind an address; undefined for any other address. */
export function findTool(url: string): ToolEntry | undefined {
  return url.startsWith(scheme)
    ? listTools().find(({ directory }) => toolUrl(directory) === url)
    : undefined;
}
