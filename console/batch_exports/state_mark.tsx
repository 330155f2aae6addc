import IconActivity from 'icon:activity';
import IconAlertTriangleFilled from 'icon:alert-triangle-filled';
import IconCircleCheckFilled from 'icon:circle-check-filled';
import IconCircleDashed from 'icon:circle-dashed';
import IconCircleHalf2 from 'icon:circle-half-2';
import IconCircleXFilled from 'icon:circle-x-filled';
import IconClockExclamation from 'icon:clock-exclamation';
import IconHourglass from 'icon:hourglass';
import IconPlayerPauseFilled from 'icon:player-pause-filled';
import IconPlayerPlayFilled from 'icon:player-play-filled';
import IconPlayerStopFilled from 'icon:player-stop-filled';
import IconRefresh from 'icon:refresh';
import type { Shape, State } from './state.ts';
import './state_mark.css';

const shapes: Record<Shape, typeof IconActivity> = {
  cross: IconCircleXFilled,
  alert: IconAlertTriangleFilled,
  stop: IconPlayerStopFilled,
  turn: IconRefresh,
  clock: IconClockExclamation,
  half: IconCircleHalf2,
  wave: IconActivity,
  play: IconPlayerPlayFilled,
  glass: IconHourglass,
  pause: IconPlayerPauseFilled,
  check: IconCircleCheckFilled,
  dashes: IconCircleDashed,
};
const shape_of_tone = { good: 'check', warn: 'alert', bad: 'cross', muted: 'dashes' } as const;

/** Shows a state by its word, its shape and its colour. */
export function StateMark({ state: { word, tone, shape } }: { state: State }) {
  return (
    <span className={`state ${tone}`}>
      <Mark tone={tone} shape={shape} />
      {word}
    </span>
  );
}

/** Shows only the shape of a state, beside its words. */
export function Mark({ tone, shape = shape_of_tone[tone] }: Pick<State, 'tone' | 'shape'>) {
  const Icon = shapes[shape];
  return <Icon size={15} className={tone} aria-hidden />;
}
