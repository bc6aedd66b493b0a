import type { ChildHandle } from '../base/process.ts';
import type { Limits, ReportFile, ToolPaths } from '../contract/index.ts';

export interface StartOptions {
  /** true: candidate code inside: bubblewrap where available, no network, only scratch writable. */
  readonly sandbox: boolean;
  /** Needs the GPU's device nodes and driver libraries. */
  readonly gpu: boolean;
  readonly wallMs: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly niceness?: number;
  /** true: the process is a profiler reading GPU counters (ncu); as root it may need CAP_SYS_ADMIN inside the sandbox. Default: argv[0] is tools.ncu. */
  readonly profiling?: boolean;
}

/** What a session may use of the machine. The executor makes it; `main/jobs/session` drives with it. */
export interface SessionContext {
  /** Absolute path of the step's scratch folder: working directory of every process, same path inside the sandbox; short enough for sockets. */
  readonly scratch: string;
  readonly tools: ToolPaths;
  /** Session's own root seed, hex, drawn when the step runs. */
  readonly seed: string;
  readonly limits: Limits;
  readonly signal?: AbortSignal;
  progress(note: string): void;
  /** Says that the session needs the GPU no more: all its runners are gone, only the judge is still at work. Others may have it then. */
  gpuDone?(): Promise<void>;
  /** Keeps a report of Nsight Compute that lies in scratch; says why not when it cannot, never throws. Absent: reports are not kept. */
  keepReport?(path: string): Promise<ReportFile>;
  /** argv[0] is absolute or relative to scratch ("./runner"). Symbolic parts are already replaced. */
  start(argv: readonly string[], options: StartOptions): ChildHandle;
}
