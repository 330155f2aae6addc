import type { FieldChange, Plan, Step } from '../../api/configuration/schema.ts';
import { oneLine } from '../shown_text.ts';
import { faultLines } from './places.ts';
import type { FileFault } from './places.ts';

const signs: Record<Step['action'], string> = {
  create: '+',
  change: '~',
  move: '>',
  adopt: '=',
  delete: '-',
};
const value_length_max = 120;

/**
 * Returns a plan as lines for people. Texts from outside stay in one line, without control
 * characters.
 */
export function planLines(plan: Plan): string[] {
  return [
    ...plan.steps.flatMap((step) => [
      `${signs[step.action]} ${titleOf(step)}`,
      ...step.changes.map((change) => `    ${changeText(change)}`),
      ...(step.cost === null ? [] : [`    ! ${step.cost.detail}`]),
    ]),
    ...plan.drift.flatMap((drift) => [
      `? ${drift.path} ${drift.is_deleted ? 'was deleted' : 'was changed'} ` +
        `outside of the configuration${byWhom(drift)}`,
      ...drift.changes.map((change) => `    ${changeText(change)}`),
    ]),
    ...plan.left.map(({ path, detail }) => `. ${path}: ${oneLine(detail)}`),
    ...plan.needs.map(({ path, detail }) => `! ${path === null ? '' : `${path}: `}${detail}`),
    ...notesOf(plan).map(({ path, detail }) => `* ${path}: ${oneLine(detail)}`),
    ...leftOutLines(plan),
    summaryLine(plan),
  ];
}

/** Returns the notes of a plan; servers of older releases send none. */
function notesOf({ notes }: Partial<Pick<Plan, 'notes'>>): Plan['notes'] {
  return notes ?? [];
}

/** Lists the parts of the files that the plan leaves out; servers of older releases report none. */
function leftOutLines({ left_out }: Partial<Pick<Plan, 'left_out'>>): string[] {
  return (left_out ?? []).map((section) => `. ${section}: left out, use --people`);
}

/** Returns a plan as Markdown, for a comment on a pull request. */
export function planMarkdown(plan: Plan): string {
  const rows = plan.steps.map((step) =>
    [
      '',
      step.action,
      code(step.path),
      step.changes.map((change) => code(changeText(change))).join('<br>') +
        (step.cost === null ? '' : `<br>**${cell(step.cost.detail)}**`),
      '',
    ]
      .join(' | ')
      .trim(),
  );
  const list = (title: string, lines: string[]) =>
    lines.length === 0 ? [] : ['', `**${title}**`, '', ...lines.map((line) => `- ${line}`)];
  return [
    `### Sluice: ${summaryLine(plan)}`,
    ...(rows.length === 0 ? [] : ['', '| | object | what |', '| --- | --- | --- |', ...rows]),
    ...list(
      'Changed outside of the configuration since the last apply',
      plan.drift.map(
        (drift) =>
          `${code(drift.path)}${cell(byWhom(drift))}: ` +
          (drift.is_deleted
            ? 'deleted'
            : drift.changes.map((one) => code(changeText(one))).join(', ')),
      ),
    ),
    ...list(
      'No longer named; it stays',
      plan.left.map(({ path, detail }) => `${code(path)}: ${cell(detail)}`),
    ),
    ...list(
      'To look at',
      notesOf(plan).map(({ path, detail }) => `${code(path)}: ${cell(detail)}`),
    ),
    ...list(
      'Left out',
      leftOutLines(plan).map((line) => line.slice(2)),
    ),
    ...list(
      'Needed before it can be applied',
      plan.needs.map(
        ({ path, detail }) => `${path === null ? '' : `${code(path)}: `}${cell(detail)}`,
      ),
    ),
    '',
    `Plan \`${plan.hash.slice(0, 12)}\`, until ${plan.expires_at}.`,
  ].join('\n');
}

/** A fault that prevented a plan, as `--json` shows it under `error`. */
export type FaultShown = { exit_code: number; faults: (FileFault | { detail: string })[] };

/** Returns a fault as Markdown, for a comment on a pull request: what to fix, and where. */
export function faultMarkdown({ exit_code, faults }: FaultShown): string {
  const isOfFiles = exit_code === 2;
  return [
    `### Sluice: ${isOfFiles ? 'the configuration is refused' : 'no plan'}`,
    '',
    ...faultLines(faults).map((line) => `- ${cell(line)}`),
    '',
    isOfFiles
      ? 'Nothing was changed. Mend the files; the next push plans again.'
      : 'Nothing was changed. Start the job again when this is mended.',
  ].join('\n');
}

/** Returns a sentence with the number of objects for each action. */
export function summaryLine({ summary, is_empty, needs }: Plan): string {
  const counts = Object.entries(summary)
    .filter(([name, count]) => count > 0 && name !== 'unchanged')
    .map(([name, count]) => `${count} to ${name}`);
  const first = is_empty ? 'nothing to do' : counts.join(', ');
  const missing = needs.length === 0 ? '' : `, ${needs.length} needed first`;
  return `${first}, ${summary.unchanged} unchanged${missing}.`;
}

function titleOf({ action, path, name, moved_from }: Step): string {
  const from = action === 'move' ? ` (was ${moved_from})` : '';
  return `${action} ${path}${from}${name === null ? '' : ` "${oneLine(name)}"`}`;
}

function byWhom({ by }: Plan['drift'][number]): string {
  if (by === null) return '';
  return ` by ${by.user ?? 'the server'}${by.key === null ? '' : ` (${by.key})`} at ${by.at}`;
}

function changeText({ field, action, before, after }: FieldChange): string {
  if (action === 'created') return `${field}: ${valueText(after)}`;
  if (action === 'deleted') return `${field}: ${valueText(before)} -> nothing`;
  return `${field}: ${valueText(before)} -> ${valueText(after)}`;
}

function valueText(value: unknown): string {
  const text = oneLine(JSON.stringify(value) ?? 'nothing');
  return text.length <= value_length_max ? text : `${text.slice(0, value_length_max)}…`;
}

function cell(text: string): string {
  return oneLine(text).replaceAll(/[|<>&[\]*_`\\]/g, (sign) => `&#${sign.codePointAt(0)};`);
}

/** Returns a code span for a table, without characters that would end the span or the cell. */
function code(text: string): string {
  return `<code>${cell(text)}</code>`;
}
