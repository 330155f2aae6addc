import type { Static, TObject } from 'typebox';
import { Type } from 'typebox';
import type { Scope } from '../../platform/http/caller/scopes.ts';
import { uuid } from '../../platform/http/schemas.ts';
import type { ApiCall } from './api_call.ts';
import { readArguments } from './arguments.ts';

/** The context of a tool's call. */
export type ToolContext = {
  api: ApiCall;
  /** The address of the console, without a slash at its end. */
  console_url: string;
  /** Reports a fault of the server, without details for the agent. */
  onFault(error: unknown): void;
};

/** One tool for agents; `run` only calls the API. */
export type Tool = {
  name: string;
  title: string;
  description: string;
  input: TObject;
  /** All scopes that a key needs for it; without them the tool is hidden. */
  scopes: readonly Scope[];
  /** The scopes that an assistant should ask for, if they are more. */
  challenge?: readonly Scope[];
  /** The level of its data; `organization` requires a key that is not limited to projects. */
  within: 'organization' | 'project';
  /** True if it can change anything; such a tool checks its scopes at each call. */
  writes: boolean;
  /**
   * Returns the answer's fields. Throws `ApiError` for invalid arguments, otherwise the API's
   * error.
   */
  run(args: unknown, context: ToolContext): Promise<Record<string, unknown>>;
};

type Defined<Input extends TObject> = Omit<Tool, 'input' | 'run' | 'within' | 'writes'> & {
  input: Input;
  within?: 'organization';
  writes?: boolean;
  run(args: Static<Input>, context: ToolContext): Promise<Record<string, unknown>>;
};

/** Creates a tool whose arguments its schema checks. */
export function defineTool<Input extends TObject>(tool: Defined<Input>): Tool {
  return {
    within: 'project',
    writes: false,
    ...tool,
    run: (args, context) => tool.run(readArguments(tool.input, args), context),
  };
}

/** The argument with a project. */
export const project = Type.Optional(
  Type.Integer({ minimum: 1, maximum: 2_147_483_647, description: 'Project id; default: oldest.' }),
);
/** The argument with an organization. */
export const organization = Type.Optional(uuid('Organization id; default: oldest.'));
/** The argument with an export. */
export const batch_export = uuid('Export id.');
/** An optional argument with an instant. */
export const instant = (description: string) =>
  Type.Optional(Type.String({ format: 'date-time', description }));
/** The argument with the most entries of an answer. */
export const limit = Type.Optional(
  Type.Integer({ minimum: 1, maximum: 100, description: 'Default 20.' }),
);
/** The argument that continues after the page before. */
export const next_page = Type.Optional(
  Type.String({ maxLength: 1_000, description: 'next_cursor of the page before.' }),
);
/** Default number of a list's entries. */
export const default_limit = 20;

/** Returns the path of the project, or of the caller's oldest one. */
export function projectPath(id: number | undefined): string {
  return `/api/projects/${id ?? '@current'}/`;
}

/** Returns the path of the organization, or of the caller's oldest one. */
export function organizationPath(id: string | undefined): string {
  return `/api/organizations/${id ?? '@current'}/`;
}

/** Returns the path of an export of the project. */
export function exportPath(project_id: number | undefined, id: string): string {
  return `${projectPath(project_id)}batch_exports/${id}/`;
}
