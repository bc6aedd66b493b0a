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

/** The same PNG with its pixel data deflated at the highest level, in one chunk. */
export function smallerPng(png: Buffer): Buffer {
  const chunks = chunksOf(png);
  const pixels = inflateSync(Buffer.concat(chunks.filter(({ type }) => type === 'IDAT').map(({ data }) => data)));
  const packed: Chunk = { type: 'IDAT', data: deflateSync(pixels, { level: 9, memLevel: 9 }) };
  const first = chunks.findIndex(({ type }) => type === 'IDAT');
  const kept = chunks.flatMap((chunk, i) => (i === first ? [packed] : chunk.type === 'IDAT' ? [] : [chunk]));
  return Buffer.concat([png.subarray(0, SIGNATURE), ...kept.map(written)]);
}
