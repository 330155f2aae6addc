import { fitWords } from './type_words.ts';

/** Shows how many values of a property fit its type. */
export function Fit({ values, misfits }: { values: number | null; misfits: number | null }) {
  const words = fitWords(values, misfits);
  if (words === null) return <span className="muted">Not counted</span>;
  return <span className={misfits === 0 ? undefined : 'warn'}>{words}</span>;
}
