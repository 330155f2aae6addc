import type { Static, TObject } from 'typebox';
import { Type } from 'typebox';
import type { Scope } from '../../platform/http/caller/scopes.ts';
import { uuid } from '../../platform/http/schemas.ts';
import type { ApiCall } from './api_call.ts';
import { readArguments } from './arguments.ts';

/** The parts of a tool beside its arguments. */
export type ToolContext = {
  api: ApiCall;
  /** The address under which people reach the console, without a slash at its end. */
  console_url: string;
  /** Takes a fault of ours, of which the agent is told no more than that there was one. */
  onFault(error: unknown): void;
};

/** One thing that an agent can do; `run` asks the API and nothing else. */
export type Tool = {
  name: string;
  title: string;
  description: string;
  input: TObject;
  /** The scopes that a key needs for it, all of them; without them the tool is not shown. */
  scopes: readonly Scope[];
  /** The scopes that an assistant is told to ask for, where that is more. */
  challenge?: readonly Scope[];
  /** The scope of its subject; an organization for keys that see more than projects. */
  within: 'organization' | 'project';
  /** True if it can change anything; such a tool asks for its scopes again at each call. */
  writes: boolean;
  /** Gives the answer's fields. Throws `ApiError` for wrong arguments, else what the API said. */
  run(args: unknown, context: ToolContext): Promise<Record<string, unknown>>;
};

type Defined<Input extends TObject> = Omit<Tool, 'input' | 'run' | 'within' | 'writes'> & {
  input: Input;
  within?: 'organization';
  writes?: boolean;
  run(args: Static<Input>, context: ToolContext): Promise<Record<string, unknown>>;
};

/** Creates a tool: its arguments are checked by its schema. */
export function defineTool<Input extends TObject>(tool: Defined<Input>): Tool {
  return {
    within: 'project',
    writes: false,
    ...tool,
    run: (args, context) => tool.run(readArguments(tool.input, args), context),
  };
}

/** The argument that names a project. */
export const project = Type.Optional(
  Type.Integer({ minimum: 1, maximum: 2_147_483_647, description: 'Project id; default: oldest.' }),
);
/** The argument that names an organization. */
export const organization = Type.Optional(uuid('Organization id; default: oldest.'));
/** The argument that names an export. */
export const batch_export = uuid('Export id.');
/** An argument with an instant, which may be left out. */
export const instant = (description: string) =>
  Type.Optional(Type.String({ format: 'date-time', description }));
/** The argument that says how many entries an answer has at most. */
export const limit = Type.Optional(
  Type.Integer({ minimum: 1, maximum: 100, description: 'Default 20.' }),
);
/** The argument that goes on where the page before ended. */
export const next_page = Type.Optional(
  Type.String({ maxLength: 1_000, description: 'next_cursor of the page before.' }),
);
/** Default number of a list's entries. */
export const default_limit = 20;

/** The path of the project, or of the caller's oldest one. */
export function projectPath(id: number | undefined): string {
  return `/api/projects/${id ?? '@current'}/`;
}

/** The path of the organization, or of the caller's oldest one. */
export function organizationPath(id: string | undefined): string {
  return `/api/organizations/${id ?? '@current'}/`;
}

/** The path of an export of the project. */
export function exportPath(project_id: number | undefined, id: string): string {
  return `${projectPath(project_id)}batch_exports/${id}/`;
}
