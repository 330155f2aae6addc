import assert from 'node:assert/strict';
import { basename } from 'node:path';
import { test } from 'node:test';
import { blank, listSourceFiles } from './source_files.ts';
import type { SourceFile } from './source_files.ts';

// Looks only for faults that oxlint and tsc (.oxlintrc.json, tsconfig.json) do not see.

/**
 * Code that stands in no file but those named. `pattern` is looked for where comments and literals
 * are blanked out.
 */
type Ban = { name: string; pattern: RegExp; except: RegExp[]; advice: string };

const outside_server = /^(test|scripts|bench)\//;
const tests = /\.test\.ts$/;
/** Lines that a file may have without a reason; with one oxlint allows 500. */
const lines_max = 300;

const bans: Ban[] = [
  {
    name: 're-exports',
    pattern: /^\s*export\s+(\*|(type\s+)?\{[^}]*\}\s*from\b)/m,
    except: [],
    advice: 'Import from the file that owns the name.',
  },
  {
    name: 'the present instant',
    pattern: /\bDate\s*\.\s*now\b|\bnew\s+Date\s*(\(\s*\)|[;,)\]])|(?<!new\s)\bDate\s*\(/,
    except: [/^server\/platform\/clock\.ts$/, /^console\/time\/now\.ts$/, outside_server, tests],
    advice: 'Ask `deps.clock`, in the console `time/now.ts`: one file knows what time it is.',
  },
  {
    name: 'skipped tests',
    pattern:
      /\b(test|it|describe|suite|t)\s*\.\s*(skip|only|todo)\b|\b(skip|only|todo)\s*:\s*true\b/,
    except: [],
    advice: 'A test runs or is removed.',
  },
  {
    name: 'test files that await at their top',
    pattern: /^((const|let) .*= )?await\b/m,
    except: [/^(?!.*\.test\.ts$)/],
    advice: 'Await in a hook: test files are loaded by `require` (scripts/check/test_groups.ts).',
  },
];

const files = listSourceFiles();

function violationsOf(file: SourceFile, ban: Ban): string[] {
  const match = ban.except.some((pattern) => pattern.test(file.path))
    ? null
    : ban.pattern.exec(file.code);
  return match === null ? [] : [`${file.path}:${lineAt(file.code, match.index)} ${ban.advice}`];
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length + (text[index] === '\n' ? 1 : 0);
}

/** A type that only derives from a list or schema: the comment there is for both. */
const derived = /^export type \w+ = (?:\(typeof \w+\)\[number\]|keyof typeof \w+|Static<.*>);$/;
const exported =
  /^export (?:declare |abstract |async )*(?:function\*?|type|interface|class|const) +(\w+)/;

function undocumented(file: SourceFile): string[] {
  const lines = file.text.split('\n');
  const code = file.code.split('\n');
  return code.flatMap((line, index) => {
    const name = exported.exec(line)?.[1];
    if (name === undefined || derived.test(line) || isDocumented(lines, index)) return [];
    // An overload, or the type that goes with a schema of the same name: one comment is for both.
    if (
      code
        .slice(0, index)
        .some((earlier) => new RegExp(`^export .*\\b(function|const) ${name}\\b`).test(earlier))
    )
      return [];
    return [`${file.path}:${index + 1} ${name}: say above it, in /** */, what it guarantees.`];
  });
}

function isDocumented(lines: string[], index: number): boolean {
  if (lines[index - 1]?.trimEnd().endsWith('*/') !== true) return false;
  for (let line = index - 1; line >= 0; line -= 1)
    if (lines[line]!.includes('/*')) return lines[line]!.trimStart().startsWith('/**');
  return false;
}

test('file and folder names are snake_case', () => {
  const odd = files
    .map((file) => file.path)
    .filter(
      (path) =>
        !/^([a-z][a-z0-9]*(_[a-z0-9]+)*\/)*[a-z][a-z0-9]*(_[a-z0-9]+)*(\.test)?\.tsx?$/.test(path),
    );
  assert.deepEqual(odd, [], 'Rename these files: full words in snake_case.');
});

test('no file is a drawer', () => {
  const drawers = files
    .map((file) => file.path)
    .filter((path) =>
      /^(utils?|helpers?|types|constants|common|misc|shared)(\.test)?\.tsx?$/.test(basename(path)),
    );
  assert.deepEqual(drawers, [], 'Name these files after the one job that they do.');
});

/** Tells whether a file is short, says at its head why it is longer, or is written by a script. */
function isExcused({ text }: Pick<SourceFile, 'text'>): boolean {
  const lines = text.split('\n').length - 1;
  return lines <= lines_max || /^\/\/ (?:Length: \S|Written by )/.test(text);
}

test('a file of more than 300 lines says why at its head', () => {
  const unexcused = files.filter((file) => !isExcused(file)).map(({ path }) => path);
  const advice = 'Split these files, or begin them with `// Length: <reason>` (up to 500 lines).';
  assert.deepEqual(unexcused, [], advice);
  const story = 'export {};\n'.repeat(lines_max + 1);
  assert.equal(isExcused({ text: story }), false);
  assert.equal(isExcused({ text: `// Length: one story.\n${story}` }), true);
});

test('every exported function, type and value has a doc comment', () => {
  assert.deepEqual(files.filter((file) => !tests.test(file.path)).flatMap(undocumented), []);
});

for (const ban of bans) {
  test(`no ${ban.name} where they do not belong`, () => {
    assert.deepEqual(
      files.flatMap((file) => violationsOf(file, ban)),
      [],
    );
  });
}

test('the rules themselves: what they see and what they leave alone', () => {
  const cases: [string, string, boolean][] = [
    ['the present instant', 'const a = Date.now();', true],
    ['the present instant', 'const a = new Date();', true],
    ['the present instant', 'const a = new Date(row.created_at);', false],
    ['the present instant', '// Date.now() is not for us\nconst a = "new Date()";', false],
    ['re-exports', "export { a } from './a.ts';", true],
    ['re-exports', 'export { a };', false],
    ['skipped tests', "test.skip('a', () => {});", true],
    ['skipped tests', "test('a', { skip: true }, () => {});", true],
  ];
  for (const [name, text, isSeen] of cases) {
    const ban = bans.find((entry) => entry.name === name)!;
    assert.equal(
      violationsOf({ path: 'server/engine/case.ts', text, code: blank(text) }, ban).length,
      isSeen ? 1 : 0,
      `${name}: ${text}`,
    );
  }
  const documented =
    '/** Gives a. */\nexport function a() {}\n\n/* no doc */\nexport type B = string;\nexport ' +
    "const c = '/** */';\n";
  assert.deepEqual(
    undocumented({ path: 'x.ts', text: documented, code: blank(documented) }).map(
      (line) => line.split(' ')[1],
    ),
    ['B:', 'c:'],
  );
});
