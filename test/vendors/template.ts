import type { Template } from './description.ts';

/** Values for a template; a text that is only a name becomes the value itself. */
type Values = Record<string, unknown>;

/**
 * Fills a template. `{{name}}` in a text is a value. `{ "$each": list, "as": template }` is a list
 * of values, where `as_other` is for entries without a `message`.
 */
export function fill(template: Template, values: Values): unknown {
  if (typeof template === 'string') return fillText(template, values);
  if (Array.isArray(template)) return template.map((part) => fill(part, values));
  if (typeof template !== 'object' || template === null) return template;
  const parts = template as Record<string, unknown>;
  if (typeof parts['$each'] === 'string')
    return (values[parts['$each']] as Values[]).map((entry) =>
      fill('message' in entry ? parts['as'] : (parts['as_other'] ?? parts['as']), {
        ...values,
        ...entry,
      }),
    );
  return Object.fromEntries(Object.entries(parts).map(([key, part]) => [key, fill(part, values)]));
}

function fillText(text: string, values: Values): unknown {
  const whole = /^\{\{([\w.]+)\}\}$/.exec(text);
  if (whole !== null) return valueAt(values, whole[1]!);
  return text.replaceAll(/\{\{([\w.]+)\}\}/g, (_, name: string) => String(valueAt(values, name)));
}

/** Returns the value at a path; undefined without one. */
export function valueAt(value: unknown, path: string): unknown {
  if (path === '$') return value;
  return path
    .split('.')
    .reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], value);
}
