/**
 * Runs in a page of Chromium, which decodes the frames: draws each with its caption, and encodes
 * all as one animated GIF. Of each frame only the pixels that changed are kept.
 */
// @ts-expect-error: the package has no types.
import { GIFEncoder, applyPalette, quantize } from 'gifenc';
import type { Frame } from './picture_frames.ts';

type Palette = number[][];

const caption_height = 44;
/** The last colour of the palette stands for an unchanged pixel. */
const staying = 255;
/** The palette is computed from one of this many pixels. */
const sampled = 7;

/** Encodes the frames; returns the file in base64. */
async function encode(frames: Frame[]): Promise<string> {
  const drawn = [];
  for (const frame of frames) drawn.push(await draw(frame));
  const palette: Palette = quantize(sampleOf(drawn), staying);
  palette.push([0, 0, 0]);
  const { width, height } = drawn[0]!;
  const gif = GIFEncoder();
  let last: Uint8Array | undefined;
  for (const [index, { data }] of drawn.entries()) {
    const pixels: Uint8Array = applyPalette(data, palette.slice(0, staying));
    const shown = last === undefined ? pixels : changesOf(last, pixels);
    gif.writeFrame(shown, width, height, {
      ...(last === undefined ? { palette } : { transparent: true, transparentIndex: staying }),
      delay: frames[index]!.ms,
      dispose: 1,
    });
    last = pixels;
  }
  gif.finish();
  const bytes: Uint8Array = gif.bytes();
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

async function draw({ png, caption, pointer }: Frame): Promise<ImageData> {
  const blob = await (await fetch(`data:image/png;base64,${png}`)).blob();
  const bitmap = await createImageBitmap(blob);
  const canvas = new OffscreenCanvas(bitmap.width, bitmap.height + caption_height);
  const context = canvas.getContext('2d')!;
  context.fillStyle = '#1a1f26';
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(bitmap, 0, caption_height);
  context.fillStyle = '#ffffff';
  context.font = '600 18px system-ui, sans-serif';
  context.textBaseline = 'middle';
  context.fillText(caption, 18, caption_height / 2);
  if (pointer !== undefined) {
    context.beginPath();
    context.arc(pointer.x, pointer.y + caption_height, 17, 0, 2 * Math.PI);
    context.lineWidth = 4;
    context.strokeStyle = '#b3261e';
    context.stroke();
  }
  return context.getImageData(0, 0, canvas.width, canvas.height);
}

function sampleOf(frames: readonly ImageData[]): Uint8Array {
  const pixels = frames.flatMap(({ data }) => {
    const words = new Uint32Array(data.buffer);
    return [words.filter((_, index) => index % sampled === 0)];
  });
  const all = new Uint32Array(pixels.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of pixels) {
    all.set(part, at);
    at += part.length;
  }
  return new Uint8Array(all.buffer);
}

function changesOf(last: Uint8Array, pixels: Uint8Array): Uint8Array {
  return pixels.map((pixel, index) => (pixel === last[index] ? staying : pixel));
}

Object.assign(globalThis, { encode });
