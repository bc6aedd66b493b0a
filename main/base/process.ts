/** How every child process of the product is described and ends. Implemented by spawn.ts. */
export interface ChildOptions {
  readonly cwd: string;
  /** The whole environment of the child: nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  readonly wallMs: number;
  /** Resident memory of the whole tree, MiB; null = unlimited. */
  readonly memoryMiB: number | null;
  /** Cap on each of stdout and stderr, bytes; the middle is cut and the cut is said. */
  readonly outputBytes: number;
  readonly stdin?: string;
  readonly signal?: AbortSignal;
}

export interface ChildExit {
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** Why we ended it, if we did. */
  readonly ended: 'timeout' | 'memory' | 'abort' | 'kill' | null;
  /** Set when the program could not be started at all (ENOENT, EACCES …). */
  readonly startError: string | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly wallMs: number;
  readonly maxRssMiB: number | null;
}

export interface ChildHandle {
  readonly pid: number | null;
  /** Never rejects. Resolves after the whole process group is gone. */
  readonly exited: Promise<ChildExit>;
  /** Kills the process group (SIGKILL). */
  kill(): void;
}
