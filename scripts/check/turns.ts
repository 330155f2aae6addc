/** The output of a step; `end` lets the next one write. */
export type Turn = { write(text: string): void; end(): void };

/**
 * Writes the output of concurrent steps one after another, in the order in which they started. The
 * output of the first running step appears at once, that of the others once the earlier ones have
 * ended.
 */
export function openTurns(write: (text: string) => void): { take(): Turn } {
  const turns: { kept: string; is_ended: boolean }[] = [];
  const moveOn = () => {
    for (let [first] = turns; first !== undefined; [first] = turns) {
      if (first.kept !== '') write(first.kept);
      first.kept = '';
      if (!first.is_ended) return;
      turns.shift();
    }
  };
  return {
    take: () => {
      const turn = { kept: '', is_ended: false };
      turns.push(turn);
      return {
        write: (text) => {
          turn.kept += text;
          moveOn();
        },
        end: () => {
          turn.is_ended = true;
          moveOn();
        },
      };
    },
  };
}
