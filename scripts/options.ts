import process from 'node:process';
import { parseArgs } from 'node:util';

type Value = number | string | boolean;
type Read<Default extends Value> = Default extends number
  ? number
  : Default extends string
    ? string
    : boolean;

/**
 * Reads the options of a command, each with its default: a number takes `--name 7`, a text `--name
 * value`, and `false` is a switch. Prints the options and ends the process with 2 if an option is
 * unknown, has no value, or has a value that is not a whole number from 0 on.
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
    // After its first sentence, Node's message describes features that these commands do not have.
    const [problem] = (error as Error).message.split(/(?<=\.)\s/);
    const known = Object.entries(defaults).map(
      ([name, value]) =>
        `  --${name}${value === false ? '' : ` ${value === '' ? '<text>' : value}`}`,
    );
    refuse([problem, 'The options, as they are when not given:', ...known].join('\n'));
  }
}

/** Prints what is wrong with the call of a command, and ends the process. */
export function refuse(problem: string): never {
  console.error(problem);
  process.exit(2);
}

/** Returns a seed that the next run will not have; each command prints it. */
export function anySeed(): number {
  return Date.now() % 1_000_000;
}

function wholeNumber(name: string, text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new Error(`--${name} takes a whole number, not '${text}'.`);
  return Number(text);
}
