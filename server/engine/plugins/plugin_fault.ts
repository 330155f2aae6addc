import type { PluginError } from './plugin.ts';

/**
 * Converts a fault of a package to a violation of the field `attr`. It is `unavailable` for an
 * origin that does not answer and `invalid_input` for the rest, with file, line and column if
 * known.
 */
export function pluginFault(error: PluginError, attr: string) {
  const { code, message, file, line, column } = error;
  return {
    attr,
    code: code === 'unreachable' ? ('unavailable' as const) : ('invalid_input' as const),
    detail: `${placeOf(error)}${message}`,
    ...(file === undefined ? {} : { file }),
    ...(line === undefined ? {} : { line }),
    ...(column === undefined ? {} : { column }),
  };
}

function placeOf({ message, file, line, column }: PluginError): string {
  if (file === undefined || line === undefined || message.includes(file)) return '';
  return `${file}, line ${line}${column === undefined ? '' : `, column ${column}`}: `;
}
