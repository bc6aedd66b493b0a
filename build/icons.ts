/**
 * Makes the program's icons from renderer/public/icon.svg into build/resources/: PNG in every size (an installed Chromium draws them),
 * `icon.ico` (Windows) and `icon.icns` (macOS), which are containers of those PNGs. Run it when the drawing changes; the files are kept
 * in the repository, so that packaging needs no browser.
 * Usage: node build/icons.ts
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { launchBrowser } from '../test/e2e/browser.ts';

const root = join(import.meta.dirname, '..');
const out = join(root, 'build/resources');
export const sizes = [16, 24, 32, 48, 64, 128, 256, 512, 1024] as const;

export interface Picture {
  /** Width and height, pixels. */
  readonly size: number;
  readonly png: Buffer;
}

/** ICO: a directory of entries, then the PNGs as they are (Windows Vista and newer). A size of 256 is written as 0. */
export function icoOf(pictures: readonly Picture[]): Buffer {
  const head = Buffer.alloc(6 + 16 * pictures.length);
  head.writeUInt16LE(1, 2);
  head.writeUInt16LE(pictures.length, 4);
  let offset = head.length;
  pictures.forEach(({ size, png }, i) => {
    const at = 6 + 16 * i;
    head.writeUInt8(size % 256, at);
    head.writeUInt8(size % 256, at + 1);
    head.writeUInt16LE(1, at + 4);
    head.writeUInt16LE(32, at + 6);
    head.writeUInt32LE(png.length, at + 8);
    head.writeUInt32LE(offset, at + 12);
    offset += png.length;
  });
  return Buffer.concat([head, ...pictures.map((p) => p.png)]);
}

/** Types of ICNS entries that hold a PNG, by its size. */
const icnsTypes: Readonly<Record<number, readonly string[]>> = {
  16: ['icp4'],
  32: ['icp5', 'ic11'],
  64: ['icp6', 'ic12'],
  128: ['ic07'],
  256: ['ic08', 'ic13'],
  512: ['ic09', 'ic14'],
  1024: ['ic10'],
};

/** ICNS: `icns`, length, then entries of type, length (with these 8 bytes) and PNG; lengths are big-endian. */
export function icnsOf(pictures: readonly Picture[]): Buffer {
  const block = (type: string, body: Buffer): Buffer => {
    const head = Buffer.alloc(8);
    head.write(type, 'latin1');
    head.writeUInt32BE(8 + body.length, 4);
    return Buffer.concat([head, body]);
  };
  const entries = pictures.flatMap(({ size, png }) => (icnsTypes[size] ?? []).map((type) => block(type, png)));
  return block('icns', Buffer.concat(entries));
}

async function draw(): Promise<Picture[]> {
  const svg = readFileSync(join(root, 'renderer/public/icon.svg'), 'utf8');
  const browser = await launchBrowser();
  try {
    const pictures: Picture[] = [];
    for (const size of sizes) {
      const page = await browser.newPage({ viewport: { width: size, height: size } });
      const picture = svg.replace('<svg ', `<svg width="${size}" height="${size}" style="display:block" `);
      await page.setContent(`<body style="margin:0;background:transparent">${picture}</body>`);
      pictures.push({ size, png: await page.screenshot({ omitBackground: true }) });
      await page.close();
    }
    return pictures;
  } finally {
    await browser.close();
  }
}

if (import.meta.main) {
  const pictures = await draw();
  mkdirSync(join(out, 'icons'), { recursive: true });
  // electron-builder looks for Linux icons by names such as 32x32.png.
  for (const { size, png } of pictures) writeFileSync(join(out, 'icons', `${size}x${size}.png`), png);
  writeFileSync(join(out, 'icon.ico'), icoOf(pictures.filter(({ size }) => size <= 256)));
  writeFileSync(join(out, 'icon.icns'), icnsOf(pictures));
  console.log(`build/resources: ${pictures.length} sizes, icon.ico, icon.icns`);
}
