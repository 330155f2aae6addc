import type { Clock } from './clocks.ts';
import type { Drawn } from './drawn.ts';

/** The slots of one clock, drawn as a lane of the map. */
export type Lane = { by: Clock; drawn: Drawn };

const lane_heights = [168, 104] as const;
const label_height = 26;
const gap = 6;

/** The place of a lane in the picture, in pixels; its label is above `top`. */
export type Place = { top: number; height: number };

/** Returns the places of so many lanes, from the top. */
export function placesOf(lanes: number): Place[] {
  const height = lanes === 1 ? lane_heights[0] : lane_heights[1];
  return Array.from({ length: lanes }, (_, index) => ({
    top: label_height + index * (height + label_height + gap),
    height,
  }));
}

/** Returns the lower edge of the last lane. */
export function bottomOf(lanes: number): number {
  const { top, height } = placesOf(lanes).at(-1)!;
  return top + height;
}

/** Returns the nearest lane at a height of the picture. */
export function laneAt<One>(lanes: readonly One[], y: number): One {
  const place = placesOf(lanes.length).findIndex(({ top, height }) => y < top + height + gap / 2);
  return lanes[place] ?? lanes.at(-1)!;
}
