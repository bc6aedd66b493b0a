import type { KernelStatic } from '../contract/index.ts';
import { kernelBaseName } from '../contract/kernel-name.ts';

const ENTRY = /Compiling entry function '([^']+)' for '([^']+)'/;
const FRAME = /(?<!\d)(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads/;

/**
 * Resources per kernel from what `nvcc -Xptxas -v` printed. The block of a kernel begins with "Compiling entry function '…' for 'sm_NN'";
 * its frame stands after "Function properties for" the same symbol (device functions that were not inlined have blocks of their own),
 * its registers after "Used". Figures that ptxas leaves out when they are none (shared memory, constants, barriers) are 0 only in a line
 * that names registers.
 */
export function kernelStatics(text: string): KernelStatic[] {
  const kernels: KernelStatic[] = [];
  let current: KernelStatic | null = null;
  let properties = '';
  for (const line of text.split(/\r?\n/)) {
    const entry = ENTRY.exec(line);
    if (entry !== null) {
      current = empty(entry[1] as string, entry[2] as string);
      kernels.push(current);
      properties = '';
      continue;
    }
    if (current === null) continue;
    const named = /Function properties for (\S+)/.exec(line);
    if (named !== null) properties = named[1] as string;
    const frame = FRAME.exec(line);
    if (frame !== null && (properties === '' || properties === current.symbol)) {
      current.stackBytes = Number(frame[1]);
      current.spillStoreBytes = Number(frame[2]);
      current.spillLoadBytes = Number(frame[3]);
    }
    if (/\bUsed \d+ registers/.test(line)) {
      current.registers = first(line, /Used (\d+) registers/) ?? null;
      current.sharedBytes = first(line, /(?<!\d)(\d+) bytes smem/) ?? 0;
      current.constantBytes = sum(line, /(?<!\d)(\d+) bytes cmem\[\d+\]/g);
      current.barriers = first(line, /used (\d+) barriers/) ?? 0;
    }
  }
  return kernels;
}

const empty = (symbol: string, arch: string): KernelStatic => ({
  symbol,
  kernel: kernelBaseName(symbol),
  arch,
  registers: null,
  stackBytes: null,
  spillStoreBytes: null,
  spillLoadBytes: null,
  sharedBytes: null,
  constantBytes: null,
  barriers: null,
});

const first = (line: string, pattern: RegExp): number | undefined => {
  const found = pattern.exec(line);
  return found === null ? undefined : Number(found[1]);
};

const sum = (line: string, pattern: RegExp): number =>
  [...line.matchAll(pattern)].reduce((total, m) => total + Number(m[1]), 0);
