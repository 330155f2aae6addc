import { faults } from './faults.ts';

const head = '| fault | found by |\n| --- | --- |\n';

/** Returns the page docs/planted_faults.md with the table of the current faults. */
export function withFaultsTable(page: string): string {
  const [before = '', after = ''] = page.split(head);
  const rest = after.slice(after.search(/^(?!\|)/m));
  const rows = faults.map(({ name, killed_by }) => `| ${name} | \`${killed_by}\` |\n`);
  return `${before}${head}${rows.join('')}${rest}`;
}
