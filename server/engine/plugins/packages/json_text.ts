import { findJsonFault } from '../../../platform/json/json_scan.ts';
import { invalidPackage } from '../plugin.ts';

/**
 * Parses JSON text. Throws `PluginError` with the file and the line and column, from 1, at which
 * the text stops being JSON.
 */
export function parseJson(text: string, file: string): unknown {
  const json = text.replace(/^\uFEFF/, '');
  try {
    return JSON.parse(json);
  } catch (error) {
    const { offset, ...at } = findJsonFault(json)!;
    const what =
      offset >= json.trimEnd().length
        ? 'it ends too early'
        : `${JSON.stringify(json[offset])} is not allowed here${hint(json, offset)}`;
    throw invalidPackage(`${file} is not JSON: line ${at.line}, column ${at.column}: ${what}.`, {
      file,
      ...at,
      cause: error,
    });
  }
}

/** Recognizes the most common JavaScript that is not JSON. */
function hint(json: string, offset: number): string {
  if (json[offset] === '/') return ', JSON has no comments';
  return '}]'.includes(json[offset]!) && json.slice(0, offset).trimEnd().endsWith(',')
    ? ', remove the comma before it'
    : '';
}
