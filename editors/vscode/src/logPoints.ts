// The state of log points as the server sends it, and what the editor shows of it. Nothing here needs an editor.

/** The parameters of the notification `sonde/logPoint`. */
export interface LogPoint {
  id: number;
  uri: string;
  /** From 0. The server moves it when the text changes. */
  line: number;
  state: "starting" | "asking" | "armed" | "ended" | "removed";
  /** For the end of the line: the last values, or why there are none. */
  label: string;
  count: number;
  /** Values since the last notification. */
  lines: LoggedLine[];
  /** Values that are not in `lines`, because there were too many. */
  omitted: number;
  /** Warnings. */
  messages: string[];
  program: string;
  processes: number[];
  /** With the state `ended`. */
  reason?: string;
  failed?: boolean;
  /** What it cost the program. */
  cost?: string;
}

export interface LoggedLine {
  /** Nanoseconds since 1970. */
  time: number;
  pid: number;
  name: string;
  text: string;
}

export interface LineEnd {
  line: number;
  text: string;
  hover: string[];
  failed: boolean;
}

const recent = 10;

/** All log points, by their numbers. */
export class LogPoints {
  private readonly points = new Map<number, { point: LogPoint; last: LoggedLine[] }>();

  /** Takes a notification. Returns the lines for the list of all values. */
  update(point: LogPoint): string[] {
    const before = this.points.get(point.id);
    const last = [...(before?.last ?? []), ...point.lines].slice(-recent);
    if (point.state === "removed") this.points.delete(point.id);
    else this.points.set(point.id, { point, last });
    const file = decodeURIComponent(point.uri.slice(point.uri.lastIndexOf("/") + 1));
    const place = `${file}:${point.line + 1}`;
    const out = point.lines.map((line) => `${timeOf(line)} ${line.name}[${line.pid}] ${place} ${line.text}`);
    if (point.omitted > 0) out.push(`${place}: ${point.omitted} more values`);
    const hasEnded = (point.state === "ended" || point.state === "removed") && before?.point.state !== "ended";
    if (hasEnded && point.reason) out.push(`${place}: ${point.reason}`);
    if (hasEnded && point.cost) out.push(`${place}: ${point.cost}`);
    return out;
  }

  /** What stands at line ends of a file. */
  lineEnds(uri: string): LineEnd[] {
    return [...this.points.values()]
      .filter(({ point }) => point.uri === uri)
      .map(({ point, last }) => ({
        line: point.line,
        text: point.label,
        hover: [...last.map((line) => `${timeOf(line)} ${line.name}[${line.pid}] ${line.text}`), ...point.messages, ...[point.reason, point.cost].filter((text) => text !== undefined && text !== "")] as string[],
        failed: point.failed === true,
      }));
  }

  isAt(uri: string, line: number): boolean {
    return [...this.points.values()].some(({ point }) => point.uri === uri && point.line === line);
  }

  get size(): number {
    return this.points.size;
  }

  clear(): void {
    this.points.clear();
  }
}

/** The local time with milliseconds. */
export function timeOf(line: LoggedLine): string {
  const date = new Date(line.time / 1e6);
  const two = (value: number) => String(value).padStart(2, "0");
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}
