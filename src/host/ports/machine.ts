/** The machine as a whole: its clock, its kernel, its packages, its power. */
export interface Machine {
  /** Puts its clock into another time zone, by the zone's name in the system's own data. An unknown one is a failure. */
  setZone(zone: string): Promise<void>;
  /** The name of its time zone. */
  zone(): Promise<string>;

  /** What the running kernel has for this parameter, by its name with dots, or undefined when it knows none of the name. */
  parameter(name: string): Promise<string | undefined>;
  /** Gives the running kernel another value, for now. What the kernel objects to is a failure. */
  setParameter(name: string, value: string): Promise<void>;
  /** Lets the boot loader read its settings anew, which hold from the next start. That there is none which would is a failure if it is needed. */
  renewBootLoader(options: { readonly needed: boolean }): Promise<void>;

  /** Whether a time server answers at this host. */
  answersTime(host: string): Promise<boolean>;

  /** Seconds by which its clock is off, by the time servers it goes by; undefined while it has heard of none. */
  clockOffset(): Promise<number | undefined>;

  /** Asks the package sources what is new. */
  renewSources(): Promise<void>;
  /** What would be installed, by what the sources were last seen to have. */
  updates(): Promise<readonly Update[]>;
  /** Installs it, after a run that only tells what would be done. `heard` is told each line. */
  update(options: { readonly signal: AbortSignal; readonly heard: (line: string) => void }): Promise<void>;

  /** Ends everything in order, then starts again or switches off. */
  end(how: 'reboot' | 'poweroff'): Promise<void>;
}

export interface Update {
  readonly name: string;
  /** Undefined for a package that is not there yet. */
  readonly from: string | undefined;
  readonly to: string;
}
