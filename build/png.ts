/** Pictures of the browser pressed harder: it writes them for speed, not for size. Every pixel stays as it is. */
import { crc32, deflateSync, inflateSync } from 'node:zlib';

const SIGNATURE = 8;
const HEAD = 8;
const CRC = 4;

interface Chunk {
  readonly type: string;
  readonly data: Buffer;
}

function chunksOf(png: Buffer): Chunk[] {
  const chunks: Chunk[] = [];
  for (let at = SIGNATURE; at < png.length; ) {
    const length = png.readUInt32BE(at);
    chunks.push({
      type: png.toString('latin1', at + 4, at + HEAD),
      data: png.subarray(at + HEAD, at + HEAD + length),
    });
    at += HEAD + length + CRC;
  }
  return chunks;
}

function written({ type, data }: Chunk): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const sum = Buffer.alloc(CRC);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

/** Takes the filters off the rows of 8-bit pixels (PNG, section 9): deflate does better on screens without them. */
function unfiltered(data: Buffer, rowBytes: number, pixelBytes: number): Buffer {
  const stride = rowBytes + 1;
  const out = Buffer.from(data);
  for (let row = 0; row < out.length; row += stride) {
    const filter = out[row];
    out[row] = 0;
    for (let at = row + 1; at < row + stride; at++) {
      const left = at - pixelBytes > row ? (out[at - pixelBytes] as number) : 0;
      const up = row > 0 ? (out[at - stride] as number) : 0;
      const corner = row > 0 && at - pixelBytes > row ? (out[at - stride - pixelBytes] as number) : 0;
      const guess = [0, left, up, (left + up) >> 1, nearest(left, up, corner)][filter ?? 0] ?? 0;
      out[at] = ((out[at] as number) + guess) & 0xff;
    }
  }
  return out;
}

/** Paeth's predictor. */
function nearest(left: number, up: number, corner: number): number {
  const [a, b, c] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)];
  return a <= b && a <= c ? left : b <= c ? up : corner;
}

const BYTES_OF_COLOUR: Readonly<Record<number, number>> = { 2: 3, 6: 4 };

/** The same PNG (8 bits, RGB or RGBA, as browsers write it) with its pixel data deflated at the highest level, in one chunk. */
export function smallerPng(png: Buffer): Buffer {
  const chunks = chunksOf(png);
  const pixels = inflateSync(Buffer.concat(chunks.filter(({ type }) => type === 'IDAT').map(({ data }) => data)));
  const head = chunks[0]?.data;
  const pixelBytes = BYTES_OF_COLOUR[head?.[9] ?? -1];
  if (head === undefined || head[8] !== 8 || head[12] !== 0 || pixelBytes === undefined) return png;
  const plain = unfiltered(pixels, head.readUInt32BE(0) * pixelBytes, pixelBytes);
  const smallest = [pixels, plain]
    .map((data) => deflateSync(data, { level: 9, memLevel: 9 }))
    .reduce((least, data) => (data.length < least.length ? data : least));
  const packed: Chunk = { type: 'IDAT', data: smallest };
  const first = chunks.findIndex(({ type }) => type === 'IDAT');
  const kept = chunks.flatMap((chunk, i) => (i === first ? [packed] : chunk.type === 'IDAT' ? [] : [chunk]));
  return Buffer.concat([png.subarray(0, SIGNATURE), ...kept.map(written)]);
}
