/** The output of a step; `end` gives the turn to the next one. */
export type Turn = { write(text: string): void; end(): void };

/**
 * Puts the output of steps that run beside each other one after the other, in the order in which
 * they took their turns: that of the first one which has not ended goes out at once, that of the
 * others when those before them have ended.
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
