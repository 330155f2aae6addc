import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from 'react';
import type { KeyboardEvent, PointerEvent, RefObject } from 'react';
import { watchTheme } from '../../page/around/theme_change.ts';
import { slotAt, slotLength } from './boundaries.ts';
import type { Rhythm, Span } from './boundaries.ts';
import { rangeAt } from './drawn.ts';
import type { Picked } from './clocks.ts';
import { laneAt } from './lanes.ts';
import type { Lane } from './lanes.ts';
import { heightOf, paint, paintMarks } from './paint.ts';
import type { Picture } from './paint.ts';
import { moved, showing, zoomed } from './view.ts';

type Given = {
  view: Span;
  setView: (view: Span) => void;
  rhythm: Rhythm;
  lanes: readonly Lane[];
  /** The slot under the pointer or keyboard cursor. */
  cursor: Picked | undefined;
  setCursor: (cursor: Picked) => void;
  selection: Picked | undefined;
  setSelection: (selection: Picked | undefined) => void;
  zones: readonly string[];
  lines: Picture['lines'];
};

/** One step of the wheel or of a key. */
const zoom_step = 1.5;

/**
 * The slots as a picture, with a lane for each clock. The pointer and the arrow keys move between
 * slots. Dragging, or the arrows with shift, selects. The wheel, plus and minus zoom.
 */
export function SlotMap(given: Given) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  useWidth(canvas, setWidth);
  usePainted(canvas, width, given);
  useWheel(canvas, given);
  const hint = useId();
  return (
    <div className="map_place">
      <canvas
        ref={canvas}
        className="slot_map"
        style={{ height: heightOf(given) }}
        tabIndex={0}
        // oxlint-disable-next-line jsx-a11y/no-interactive-element-to-noninteractive-role -- keys
        role="application"
        aria-label="Map of the slots"
        aria-describedby={hint}
        {...useDragging(given)}
        onKeyDown={(event) => pressed(event, given)}
      />
      <p id={hint} className="map_hint small">
        Arrow keys go from slot to slot and between the clocks, with Shift they select; drag selects
        too. + and - or the wheel zoom, Page Up and Page Down move. The table below has the same.
      </p>
    </div>
  );
}

function useWidth(canvas: RefObject<HTMLCanvasElement | null>, tell: (width: number) => void) {
  useLayoutEffect(() => {
    const element = canvas.current!;
    tell(element.clientWidth);
    const observer = new ResizeObserver(() => tell(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, [canvas, tell]);
}

function usePainted(
  canvas: RefObject<HTMLCanvasElement | null>,
  width: number,
  { view, rhythm, lanes, selection, cursor, zones, lines }: Given,
) {
  const slots = useRef<HTMLCanvasElement>(undefined);
  const shown = useMemo(
    () => ({ width, view, rhythm, lanes, zones, lines }),
    [width, view, rhythm, lanes, zones, lines],
  );
  const painted = useRef<{ shown: typeof shown; ratio: number }>(undefined);
  useEffect(() => {
    const element = canvas.current!;
    if (width === 0) return;
    const draw = () => {
      const style = getComputedStyle(element);
      const colourOf = (name: string) => style.getPropertyValue(name);
      const ratio = devicePixelRatio;
      const picture = { ...shown, ratio };
      // The marks change far more often than the slots below.
      if (painted.current?.shown !== shown || painted.current.ratio !== ratio) {
        slots.current ??= document.createElement('canvas');
        paint(sized(slots.current, picture), picture, colourOf);
        painted.current = { shown, ratio };
      }
      const context = sized(element, picture);
      context.setTransform(1, 0, 0, 1, 0, 0);
      context.clearRect(0, 0, element.width, element.height);
      context.drawImage(slots.current!, 0, 0);
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      paintMarks(context, picture, { selection, cursor }, colourOf);
    };
    const frame = requestAnimationFrame(draw);
    const leaveTheme = watchTheme(() => {
      painted.current = undefined;
      draw();
    });
    return () => {
      cancelAnimationFrame(frame);
      leaveTheme();
    };
  }, [canvas, width, shown, selection, cursor]);
}

/**
 * Returns the context of a canvas with the picture's size; setting a size is slow, so it is only
 * done on a change.
 */
function sized(canvas: HTMLCanvasElement, picture: Picture) {
  const { width, ratio } = picture;
  const [wide, high] = [Math.round(width * ratio), Math.round(heightOf(picture) * ratio)];
  if (canvas.width !== wide) canvas.width = wide;
  if (canvas.height !== high) canvas.height = high;
  return canvas.getContext('2d')!;
}

/** React's wheel listener is passive, so it cannot prevent scrolling of the page. */
function useWheel(canvas: RefObject<HTMLCanvasElement | null>, { view, setView, rhythm }: Given) {
  useEffect(() => {
    const element = canvas.current!;
    const turned = (event: WheelEvent) => {
      event.preventDefault();
      const share = event.offsetX / element.clientWidth;
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        setView(moved(view, (event.deltaX + event.deltaY) / element.clientWidth));
        return;
      }
      const factor = event.deltaY > 0 ? zoom_step : 1 / zoom_step;
      const at = view.from + share * (view.to - view.from);
      setView(zoomed(view, at, factor, slotLength(rhythm)));
    };
    element.addEventListener('wheel', turned, { passive: false });
    return () => element.removeEventListener('wheel', turned);
  }, [canvas, view, setView, rhythm]);
}

/** Returns the span around both. */
function around(one: Picked, other: Span): Picked {
  return { by: one.by, from: Math.min(one.from, other.from), to: Math.max(one.to, other.to) };
}

function useDragging({ view, rhythm, lanes, cursor, setCursor, setSelection }: Given) {
  const began = useRef<Picked>(undefined);
  return useMemo(() => {
    const under = (event: PointerEvent<HTMLCanvasElement>): Picked => {
      const { left, top, width } = event.currentTarget.getBoundingClientRect();
      const share = Math.min(Math.max((event.clientX - left) / width, 0), 0.999_999);
      const { by } = laneAt(lanes, event.clientY - top);
      return { ...slotAt(rhythm, view.from + share * (view.to - view.from)), by };
    };
    return {
      onPointerDown: (event: PointerEvent<HTMLCanvasElement>) => {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        began.current = under(event);
        setCursor(began.current);
      },
      onPointerMove: (event: PointerEvent<HTMLCanvasElement>) => {
        const slot = under(event);
        if (slot.from !== cursor?.from || slot.by !== cursor.by) setCursor(slot);
        if (began.current !== undefined && slot.from !== began.current.from)
          setSelection(around(began.current, slot));
      },
      onPointerUp: (event: PointerEvent<HTMLCanvasElement>) => {
        if (began.current === undefined) return;
        setSelection(around(began.current, under(event)));
        began.current = undefined;
      },
      onPointerCancel: () => (began.current = undefined),
    };
  }, [view, rhythm, lanes, cursor, setCursor, setSelection]);
}

function pressed(event: KeyboardEvent, given: Given): void {
  const done = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
  if (done === undefined) return;
  event.preventDefault();
  done(given, event.shiftKey);
}

const keys: Partial<Record<string, (given: Given, is_selecting: boolean) => void>> = {
  ArrowRight: (given, is_selecting) => step(given, 1, is_selecting),
  ArrowLeft: (given, is_selecting) => step(given, -1, is_selecting),
  ArrowUp: (given) => changeLane(given, -1),
  ArrowDown: (given) => changeLane(given, 1),
  '+': (given) => zoom(given, 1 / zoom_step),
  '=': (given) => zoom(given, 1 / zoom_step),
  '-': (given) => zoom(given, zoom_step),
  PageDown: ({ view, setView }) => setView(moved(view, 0.75)),
  PageUp: ({ view, setView }) => setView(moved(view, -0.75)),
  Home: (given) => go(given, slotAt(given.rhythm, given.view.from), false),
  End: (given) => go(given, slotAt(given.rhythm, given.view.to - 1), false),
  ' ': ({ cursor, setSelection }) => setSelection(cursor),
  Enter: ({ cursor, lanes, setSelection }) => {
    const lane = lanes.find(({ by }) => by === cursor?.by);
    const range = lane === undefined ? undefined : rangeAt(lane.drawn, cursor!.from);
    if (range === undefined) return;
    const [from, to] = [Date.parse(range.start_at), Date.parse(range.end_at)];
    setSelection({ from, to, by: lane!.by });
  },
  Escape: ({ setSelection }) => setSelection(undefined),
};

function zoom(given: Given, factor: number): void {
  const { view, cursor, rhythm } = given;
  const at = cursor === undefined ? (view.from + view.to) / 2 : (cursor.from + cursor.to) / 2;
  given.setView(zoomed(view, at, factor, slotLength(rhythm)));
}

function step(given: Given, direction: 1 | -1, is_selecting: boolean): void {
  const { cursor, view, rhythm } = given;
  if (cursor === undefined) go(given, slotAt(rhythm, (view.from + view.to) / 2), is_selecting);
  else go(given, slotAt(rhythm, direction > 0 ? cursor.to : cursor.from - 1), is_selecting);
}

function changeLane(given: Given, direction: 1 | -1): void {
  const { cursor, lanes } = given;
  const lane = lanes[lanes.findIndex(({ by }) => by === cursor?.by) + direction];
  if (cursor !== undefined && lane !== undefined) given.setCursor({ ...cursor, by: lane.by });
}

function go(given: Given, slot: Span, is_selecting: boolean): void {
  const { cursor, selection, view, lanes } = given;
  const by = cursor?.by ?? lanes[0]!.by;
  given.setCursor({ ...slot, by });
  if (showing(view, slot) !== view) given.setView(showing(view, slot));
  if (!is_selecting || cursor === undefined) return;
  // The end at the cursor moves, unless there was no selection.
  const own = selection?.by === by ? selection : undefined;
  const moves_end = own !== undefined && own.to === cursor.to;
  const moves_start = own !== undefined && own.from === cursor.from;
  if (moves_end && slot.to > own.from + 1) given.setSelection({ ...own, to: slot.to });
  else if (moves_start && slot.from < own.to) given.setSelection({ ...own, from: slot.from });
  else given.setSelection(around(cursor, slot));
}
