import { readOptions } from '../../scripts/options.ts';
import { median, spreadOf } from './median.ts';

/** The result of a bench: one line of the table that `npm run bench` creates. */
export type Figure = {
  /** The work and its amount, in words that need no context. */
  what: string;
  /** The unit behind the number; `better` says whether a higher or a lower number is better. */
  unit: string;
  better: 'more' | 'less';
  /** One number of each round. */
  ours: number[];
  /** An alternative, or the limit of the machine, measured in the same rounds. */
  beside?: { name: string; rounds: number[] };
  /** Processor time of all participants in the same rounds, in any unit. */
  processor?: { ours: number[]; beside: number[] };
  /** The target: a ratio to `beside`, or a number in the figure's own unit. */
  aim?: { ratio: number } | { value: number };
};

/**
 * Prints the results, and sends them to `npm run bench` if that started this process. The rounds of
 * one figure were alternated with those of `beside`.
 */
export function tell(figure: Figure): void {
  const [what, ...cells] = cellsOf(figure);
  const said = cells.flatMap((cell, at) => (cell === '' ? [] : [`${heads[at + 1]!} ${cell}`]));
  console.log(`${what}: ${said.join('; ')}`);
  process.send?.(figure);
}

/** Reads the options of a bench, except those of benched_program.ts. */
export function readBenchOptions<Defaults extends Record<string, string>>(defaults: Defaults) {
  return readOptions({ ...defaults, server: '' });
}

/** Returns the numbers of a comma-separated option. */
export function numbersOf(list: string): number[] {
  return list.split(',').map(Number);
}

const heads = ['what', 'ours', 'beside it', 'ratio', 'by processor time', 'aim'] as const;

/** Returns the figures as a table of Markdown. A ratio above 1 means that ours is better. */
export function tableOf(figures: readonly Figure[]): string {
  const rows = [[...heads], heads.map(() => '---'), ...figures.map(cellsOf)];
  return rows.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function cellsOf(figure: Figure): string[] {
  const { what, unit, ours, beside, processor, aim } = figure;
  const told = (numbers: number[]) => `${spread(numbers, amount)} ${unit}`.trim();
  return [
    what,
    told(ours),
    beside === undefined ? '' : `${told(beside.rounds)}, ${beside.name}`,
    beside === undefined ? '' : ratioText(ratiosOf(figure)),
    // A lower number is better, whatever the figure counts.
    processor === undefined
      ? ''
      : ratioText([median(processor.ours.map((one, at) => processor.beside[at]! / one))]),
    aimText(figure, aim),
  ];
}

/** Returns a ratio for each round: both sides of a round ran on the same, equally busy machine. */
function ratiosOf({ ours, beside, better }: Figure): number[] {
  return ours.map((one, at) => {
    const other = beside!.rounds[at]!;
    return better === 'more' ? one / other : other / one;
  });
}

/** Returns undefined for a round that was too short to measure. */
function ratioText(ratios: number[]): string {
  return ratios.every((one) => one > 0 && one < Infinity) ? spread(ratios, two) : '';
}

function aimText(figure: Figure, aim: Figure['aim']): string {
  if (aim === undefined) return '';
  const [found, wanted] =
    'ratio' in aim ? [median(ratiosOf(figure)), aim.ratio] : [median(figure.ours), aim.value];
  const isMet = 'ratio' in aim || figure.better === 'more' ? found >= wanted : found <= wanted;
  return `${amount(wanted)}${'ratio' in aim ? '' : ` ${figure.unit}`}${isMet ? '' : ', missed'}`;
}

/** Returns the median, with the minimum and the maximum if they differ. */
function spread(numbers: number[], written: (number: number) => string): string {
  const [middle, least, most] = spreadOf(numbers).map(written);
  return least === most ? middle! : `${middle} (${least} to ${most})`;
}

const two = (number: number) => number.toFixed(2);

/** Rounds to three significant digits. */
function amount(number: number): string {
  const digits = number === 0 ? 0 : Math.max(0, 2 - Math.floor(Math.log10(Math.abs(number))));
  return Number(number.toFixed(Math.min(digits, 2))).toLocaleString('en-US');
}
