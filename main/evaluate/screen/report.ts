/** One reason why a source is refused. */
export interface Rejection {
  /** Line in the source, from 1. */
  readonly line: number;
  /** Short name of the rule: include, name, cuda, asm, signature … */
  readonly rule: string;
  /** What is wrong and, where it helps, what to do instead. */
  readonly why: string;
}

/** Collects rejections, one per line, rule and reason. */
export class Report {
  private readonly seen = new Set<string>();
  readonly rejections: Rejection[] = [];

  add(line: number, rule: string, why: string): void {
    const key = `${line}|${rule}|${why}`;
    if (this.seen.has(key)) return;
    this.seen.add(key);
    this.rejections.push({ line, rule, why });
  }

  sorted(): Rejection[] {
    return [...this.rejections].sort((a, b) => a.line - b.line);
  }
}
