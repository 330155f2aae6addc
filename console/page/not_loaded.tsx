import { useContext, useEffect, useEffectEvent, useState } from 'react';
import { whyNotServed } from '../http/ask.ts';
import { partMissing } from '../http/problem.ts';
import type { Problem } from '../http/problem.ts';
import { AroundContext } from './around/around.ts';
import { BusyButton } from './busy_button.tsx';
import { Page, PlainPage } from './page.tsx';
import { Refusal, Waiting } from './shown.tsx';

/** Milliseconds between checks for an unreachable server. */
const look_ms = 30_000;
const title = 'This page could not be loaded';

/**
 * Replaces a page whose code could not be loaded. If the server delivers the console, which may be
 * newer, reloads once; otherwise shows the reason, and a button. Checks an unreachable server from
 * time to time, and when the browser is online again.
 */
export function NotLoaded() {
  const [is_asking, setAsking] = useState(true);
  const [problem, setProblem] = useState<Problem>();
  const [is_away, setAway] = useState(false);
  const readAnew = (why: Problem | undefined, is_wanted: boolean) => {
    // Never without a server, which would show the browser's error page.
    if (why === undefined && (is_wanted || isFirstTime())) return location.reload();
    setProblem(why ?? partMissing());
    setAway(why !== undefined);
    setAsking(false);
  };
  const look = useEffectEvent(() => void whyNotServed().then((why) => readAnew(why, is_away)));
  useEffect(() => {
    const lookAgain = () => look();
    lookAgain();
    const timer = setInterval(lookAgain, look_ms);
    addEventListener('online', lookAgain);
    return () => {
      clearInterval(timer);
      removeEventListener('online', lookAgain);
    };
  }, []);
  const around = useContext(AroundContext);
  const press = () => {
    setAsking(true);
    void whyNotServed().then((why) => readAnew(why, true));
  };
  const again = (
    <BusyButton size="compact-sm" is_busy={is_asking} press={press}>
      Try again
    </BusyButton>
  );
  if (around === 'page')
    return problem === undefined ? (
      <Waiting />
    ) : (
      <Refusal problem={problem} title={title}>
        {again}
      </Refusal>
    );
  const told =
    problem === undefined ? (
      <Waiting />
    ) : (
      <div role="alert">
        <p>{problem.message}</p>
        {again}
      </div>
    );
  const Around = around === 'frame' ? Page : PlainPage;
  return <Around title={problem === undefined ? 'Loading' : title}>{told}</Around>;
}

/**
 * Returns true at the first reload for a newer console in this tab. While servers are replaced,
 * pages and their code may come from different ones.
 */
function isFirstTime(): boolean {
  const name = `sluice_left ${document.querySelector<HTMLScriptElement>('script[src]')?.src}`;
  const is_first = sessionStorage.getItem(name) === null;
  sessionStorage.setItem(name, '');
  return is_first;
}
