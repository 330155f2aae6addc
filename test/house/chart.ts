import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { root } from './source_files.ts';

const read = (path: string) => readFileSync(join(root, path), 'utf8');

/** A map of YAML. */
export type Values = Record<string, unknown>;
/** The folder of the chart. */
export const chart = 'deploy/chart';

/**
 * Returns the value at a path such as `.Values.api.replicas`. Throws for a path that `values.yaml`
 * lacks.
 */
function valueAt(path: string, context: Values): unknown {
  let value: unknown = context;
  for (const name of path.split('.').filter((part) => part !== '')) {
    value = (value as Values | null | undefined)?.[name];
    assert.notEqual(value, undefined, `values.yaml has no ${path}`);
  }
  return value;
}

/**
 * Renders the parts of Helm's templates that the chart uses. These are values, `quote`, `toJson`,
 * `include` with `nindent`, the files of the chart, `range` over a map, and `if` around a whole
 * file. Throws for anything else, as there is no Helm to ask.
 */
function render(text: string, parts: Map<string, string>, context: Values): string {
  const whole_if = /^\{\{- if (\S+) \}\}\n([\s\S]*)\{\{- end \}\}\n$/.exec(text);
  if (whole_if !== null)
    return valueAt(whole_if[1]!, context) === true ? render(whole_if[2]!, parts, context) : '';
  const ranged = text.replaceAll(
    /\n? *\{\{- range \$(\w+), \$(\w+) := (\S+) \}\}([\s\S]*?)\{\{- end \}\}/g,
    (_whole, name: string, value: string, path: string, body: string) =>
      Object.entries(valueAt(path, context) as Values)
        .map(([key, one]) =>
          body
            .trimEnd()
            .replaceAll(`{{ $${name} }}`, key)
            .replaceAll(
              `{{ kindIs "string" $${value} | ternary $${value} (toJson $${value}) | quote }}`,
              JSON.stringify(String(one)),
            )
            // Helm reads a number of the values as a float, and writes it as Go does.
            .replaceAll(`{{ $${value} | quote }}`, JSON.stringify(goText(one))),
        )
        .join(''),
  );
  return ranged.replaceAll(
    /(\s*)\{\{(-?) (.*?) \}\}/g,
    (_whole, space: string, cut: string, said: string) => {
      const included = /^include "([\w.]+)" \. \| nindent (\d+)$/.exec(said);
      if (included !== null) {
        const part = render(parts.get(included[1]!)!, parts, context).trim();
        const indent = `\n${' '.repeat(Number(included[2]))}`;
        return indent + part.replaceAll('\n', indent);
      }
      assert.equal(cut, '', `the test does not know ${said}`);
      const plain = /^(\.[\w.]+)( \| quote)?$/.exec(said);
      if (plain !== null) {
        const value = String(valueAt(plain[1]!, context));
        return space + (plain[2] === undefined ? value : JSON.stringify(value));
      }
      const files = /^\(\.Files\.Glob "(\S+)"\)\.AsConfig \| indent (\d+)$/.exec(said);
      if (files !== null)
        return globSync(files[1]!, { cwd: join(root, chart) })
          .map((path) => `${basename(path)}: ${JSON.stringify(read(`${chart}/${path}`))}`)
          .map((line) => `\n${' '.repeat(Number(files[2]))}${line}`)
          .join('');
      const file = /^\.Files\.Get "(\S+)" \| indent (\d+)$/.exec(said);
      if (file !== null)
        return space + read(`${chart}/${file[1]}`).replaceAll(/^/gm, ' '.repeat(Number(file[2])));
      const json = /^toJson (\.[\w.]+)$/.exec(said);
      assert.ok(json, `the test does not know ${said}`);
      return space + JSON.stringify(valueAt(json[1]!, context));
    },
  );
}

/** Returns the text of Go's `%v`: a number of seven digits or more has an exponent. */
function goText(value: unknown): string {
  if (typeof value !== 'number' || Math.abs(value) < 1e6) return String(value);
  return value.toExponential().replace(/e\+(\d)$/, 'e+0$1');
}

/** Returns the objects that the chart creates with these values besides its defaults. */
export function renderChart(more: Values): any[] {
  const folder = `${chart}/templates`;
  const parts = new Map(
    [
      ...read(`${folder}/_pod.tpl`).matchAll(
        /\{\{- define "([\w.]+)" -\}\}\n([\s\S]*?)\n\{\{- end \}\}\n(?=\{\{- define|$)/g,
      ),
    ].map(([, name, body]) => [name!, body!]),
  );
  const context = {
    Values: { ...(parse(read(`${chart}/values.yaml`)) as Values), ...more },
    Release: { Name: 'mine' },
  };
  return globSync(`${folder}/*.yaml`, { cwd: root }).flatMap((path) =>
    parseAllDocuments(render(read(path), parts, context)).flatMap((document) => {
      assert.deepEqual(document.errors, [], path);
      return document.contents === null ? [] : [document.toJS() as unknown];
    }),
  );
}
