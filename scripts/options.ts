import process from 'node:process';
import { parseArgs } from 'node:util';

type Value = number | string | boolean;
type Read<Default extends Value> = Default extends number
  ? number
  : Default extends string
    ? string
    : boolean;

/**
 * The options of a command, each with its default: a number takes `--name 7`, a text
 * `--name value`, and `false` is a switch. Says what there is and ends the process with 2 where an
 * option is unknown, or has no value or one that is no whole number from 0 on.
 */
export function readOptions<Defaults extends Record<string, Value>>(
  defaults: Defaults,
  args: string[] = process.argv.slice(2),
): { [Name in keyof Defaults]: Read<Defaults[Name]> } {
  const options = Object.fromEntries(
    Object.entries(defaults).map(([name, value]) => [
      name,
      { type: value === false ? ('boolean' as const) : ('string' as const) },
    ]),
  );
  try {
    const { values, positionals } = parseArgs({ args, options, allowPositionals: true });
    if (positionals.length > 0) throw new Error(`'${positionals[0]}' belongs to no option.`);
    const given = values as Record<string, string | true>;
    const read = Object.entries(defaults).map(([name, value]) => [
      name,
      typeof value === 'number' && given[name] !== undefined
        ? wholeNumber(name, String(given[name]))
        : (given[name] ?? value),
    ]);
    return Object.fromEntries(read);
  } catch (error) {
    // Behind its first sentence Node tells of things that commands here do not have.
    const [problem] = (error as Error).message.split(/(?<=\.)\s/);
    const known = Object.entries(defaults).map(
      ([name, value]) =>
        `  --${name}${value === false ? '' : ` ${value === '' ? '<text>' : value}`}`,
    );
    refuse([problem, 'The options, as they are when not given:', ...known].join('\n'));
  }
}

/** Says what is wrong with how a command was called, and ends the process. */
export function refuse(problem: string): never {
  console.error(problem);
  process.exit(2);
}

/** A seed that the next run will not have again; each command prints its own. */
export function anySeed(): number {
  return Date.now() % 1_000_000;
}

function wholeNumber(name: string, text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new Error(`--${name} takes a whole number, not '${text}'.`);
  return Number(text);
}
