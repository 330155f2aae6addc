/**
 * A package's files: name within the package (forward slashes, no leading slash) -> text. Files
 * that are not UTF-8 text are not stored.
 */
export type PluginFiles = Record<string, string>;

/** The collections; a record belongs to the one in which it was created. */
export const plugin_collections = [
  'pipeline_destinations',
  'pipeline_frontend_apps',
  'pipeline_import_apps',
] as const;
export type PluginCollection = (typeof plugin_collections)[number];

/** Sources of a package's version. */
export type PluginType = 'local' | 'custom' | 'repository' | 'source' | 'inline';

/**
 * The capabilities of a package's code: exported functions that the platform calls, keys of its
 * `jobs`, and its `runEvery...` functions.
 */
export type Capabilities = { methods: string[]; jobs: string[]; scheduled_tasks: string[] };

/**
 * One field of a package's configuration, in the list layout; the dictionary layout is converted,
 * in its `order`.
 */
export type ConfigField = {
  key?: string;
  name?: string;
  type?: 'string' | 'json' | 'attachment' | 'choice';
  default?: unknown;
  hint?: string;
  markdown?: string;
  order?: number;
  required?: boolean;
  secret?: boolean;
  choices?: string[];
  required_if?: unknown[];
  visible_if?: unknown[];
  site?: boolean;
};

/**
 * The content of a package's `plugin.json`. `config_schema` is the original; `fields` is the same
 * in the list layout.
 */
export type PluginManifest = {
  name: string;
  description: string | null;
  icon: string | null;
  url: string | null;
  version: string | null;
  main: string | null;
  config_schema: unknown;
  fields: ConfigField[];
  public_jobs: Record<string, unknown>;
};

/**
 * A package as it was read from its origin: complete, within the limits, with a valid plugin.json.
 * `content_sha256` covers the names and texts of all files.
 */
export type PluginPackage = {
  files: PluginFiles;
  manifest: PluginManifest;
  tag: string | null;
  content_sha256: string;
};

/**
 * A fault of a package or its origin that the user can fix. `file`, `line`, `column` if known;
 * lines and columns count from 1.
 */
export class PluginError extends Error {
  readonly code:
    | 'invalid'
    | 'not_found'
    | 'unreachable'
    | 'too_large'
    | 'refused'
    | 'compile'
    | 'runtime'
    | 'timeout'
    | 'memory';
  readonly file: string | undefined;
  readonly line: number | undefined;
  readonly column: number | undefined;
  /** @param message a sentence that says what to do, without secrets */
  constructor(
    code: PluginError['code'],
    message: string,
    at: { file?: string; line?: number; column?: number; cause?: unknown } = {},
  ) {
    super(message, { cause: at.cause });
    this.name = 'PluginError';
    this.code = code;
    this.file = at.file;
    this.line = at.line;
    this.column = at.column;
  }
}

/** Returns the fault of an invalid package or package name. */
export function invalidPackage(
  message: string,
  at?: { file?: string; line?: number; column?: number; cause?: unknown },
): PluginError {
  return new PluginError('invalid', message, at);
}
