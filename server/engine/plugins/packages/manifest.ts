import { PluginError, invalidPackage } from '../plugin.ts';
import type { ConfigField, PluginFiles, PluginManifest } from '../plugin.ts';
import { showName } from './archives/file_names.ts';
import { readFields } from './config_fields.ts';
import { isGiven, valueFault } from './config_value.ts';
import { isFields } from '../../../platform/fields.ts';
import { isLineOfText, line_of_text_rule } from '../../../platform/line_of_text.ts';
import { openFaults, show } from './faults.ts';
import type { Faults } from './faults.ts';
import { parseJson } from './json_text.ts';
import { readPublicJobs } from './public_jobs.ts';
import { findEntry } from '../sandbox/package_modules.ts';
import { storableFault } from './storable.ts';

/** The file that describes a package, at its top level. */
export const manifest_file = 'plugin.json';

const package_file = 'package.json';
const manifest_characters_max = 1024 * 1024;
/** Characters. The record's columns hold no more. */
const lengths_max = {
  name: 200,
  description: 65_536,
  icon: 800,
  url: 800,
  version: 100,
  main: 255,
};

/**
 * Reads plugin.json. Guarantee: a `PluginError` names the file, and either the line and column if
 * the text is not JSON, or every key with a wrong value and its requirement. Unknown keys are
 * ignored, since packages have some for other programs. The version comes from plugin.json, or else
 * from package.json; so does `main`, if package.json exists and no index file does.
 */
export function readManifest(files: PluginFiles): PluginManifest {
  const text = Object.hasOwn(files, manifest_file) ? files[manifest_file]! : undefined;
  if (text === undefined) throw withoutManifest(files);
  if (text.length > manifest_characters_max)
    throw new PluginError('too_large', 'plugin.json is larger than 1 MiB. Shorten it.', {
      file: manifest_file,
    });
  const json = parseJson(text, manifest_file);
  if (!isFields(json))
    throw invalidPackage('plugin.json must be an object, as in {"name": "My plugin"}.', {
      file: manifest_file,
      line: 1,
      column: 1,
    });
  const faults = openFaults();
  checkStorable(json, faults);
  refuseFaults(faults);
  const words = readTexts(json, faults);
  const config_schema = json['config'] ?? [];
  const fields = readFields(config_schema, faults);
  const public_jobs = readPublicJobs(json['publicJobs'] ?? {}, faults);
  if (words.name === null && faults.list.every((fault) => !fault.startsWith('name ')))
    faults.add('name', 'is required');
  refuseFaults(faults);
  return {
    ...words,
    name: words.name!,
    version: words.version ?? packageText(files, 'version'),
    main: words.main ?? packageMain(files),
    config_schema,
    fields,
    public_jobs,
  };
}

function withoutManifest(files: PluginFiles): PluginError {
  const other = Object.keys(files).find((name) => /(?:^|\/)plugin\.json$/i.test(name));
  return invalidPackage(
    'The package has no plugin.json at its top level' +
      (other === undefined
        ? '. Add one with at least a name.'
        : `, but ${showName(other)}. Pack or name the folder with plugin.json, and spell the ` +
          'file exactly so.'),
    { file: manifest_file },
  );
}

function refuseFaults({ list }: Faults): void {
  if (list.length > 0)
    throw invalidPackage(`plugin.json is wrong: ${list.join('; ')}.`, {
      file: manifest_file,
    });
}

/** Adds faults for values that the record could not store. */
function checkStorable(json: Record<string, unknown>, faults: Faults): void {
  for (const key of [...Object.keys(lengths_max), 'config', 'publicJobs']) {
    // Texts have lengths of their own.
    const fault =
      typeof json[key] === 'string' ? storableFault(json[key], Infinity) : storableFault(json[key]);
    if (fault !== undefined) faults.add(key, fault);
  }
}

function readTexts(json: Record<string, unknown>, faults: Faults) {
  const read = (key: keyof typeof lengths_max): string | null => {
    const value = json[key] ?? null;
    if (typeof value === 'string' && value.length <= lengths_max[key])
      return value.trim() === '' ? null : value;
    if (value !== null)
      faults.add(
        key,
        typeof value === 'string'
          ? `must have at most ${lengths_max[key]} characters`
          : `must be text, not ${show(value)}`,
      );
    return null;
  };
  const readLine = (key: 'name' | 'version'): string | null => {
    const line = read(key);
    if (line !== null && !isLineOfText(line)) faults.add(key, `must be ${line_of_text_rule}`);
    return line;
  };
  return {
    name: readLine('name'),
    description: read('description'),
    icon: read('icon'),
    url: read('url'),
    version: readLine('version'),
    main: read('main'),
  };
}

function packageMain(files: PluginFiles): string | null {
  if (findEntry(files, null, 'server') !== undefined) return null;
  const main = packageText(files, 'main');
  return main !== null && Object.hasOwn(files, findEntry(files, main, 'server')!) ? main : null;
}

/** An unreadable package.json only concerns npm. */
function packageText(files: PluginFiles, key: 'version' | 'main'): string | null {
  if (!Object.hasOwn(files, package_file)) return null;
  try {
    const value = (JSON.parse(files[package_file]!) as Record<string, unknown>)[key];
    return typeof value === 'string' &&
      value !== '' &&
      storableFault(value, lengths_max[key]) === undefined
      ? value
      : null;
  } catch {
    return null;
  }
}

/**
 * A fault in a configuration: the field's key, a code of the API's list and a sentence. Never the
 * value, which may be a secret.
 */
export type ConfigFault = {
  attr: string;
  code: 'required' | 'unknown_field' | 'invalid_choice' | 'invalid_input';
  detail: string;
};

/**
 * Lists the faults of a configuration, at most one per key; none if it is valid. A field's default
 * replaces a missing value; null and the empty text count as missing. `required_if` and
 * `visible_if` are met if all their pairs are, and invisible fields are not required. Attachments
 * are objects `{file_name, content_type, contents}` with the contents in base64; all other values
 * are text, JSON text for a `json` field.
 */
export function configFaults(
  fields: ConfigField[],
  config: Record<string, unknown>,
): ConfigFault[] {
  const keyed = new Map(
    fields.flatMap((field) => (field.key === undefined ? [] : [[field.key, field] as const])),
  );
  const valueOf = (key: string) =>
    Object.hasOwn(config, key) ? config[key] : keyed.get(key)?.default;
  const faults: ConfigFault[] = Object.keys(config)
    .filter((key) => !keyed.has(key))
    .map((key) => ({
      attr: key,
      code: 'unknown_field',
      detail: 'This plugin has no field of this name.',
    }));
  for (const [attr, field] of keyed) {
    const value = valueOf(attr);
    if (!isGiven(value)) {
      if (isRequired(field, valueOf))
        faults.push({ attr, code: 'required', detail: `${field.name ?? attr} is required.` });
      continue;
    }
    const fault = valueFault(field, value);
    if (fault !== undefined) faults.push({ attr, ...fault });
  }
  return faults;
}

function isRequired(field: ConfigField, valueOf: (key: string) => unknown): boolean {
  const holds = (pairs: unknown[]) =>
    (pairs as [string, unknown?][]).every((pair) =>
      pair.length === 1 ? isGiven(valueOf(pair[0])) : valueOf(pair[0]) === pair[1],
    );
  const isVisible = field.visible_if === undefined || holds(field.visible_if);
  return (
    isVisible &&
    (field.required === true || (field.required_if !== undefined && holds(field.required_if)))
  );
}
