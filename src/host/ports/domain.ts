/** The machine as a member of an Active Directory domain. */
export interface Domain {
  /** Finds the domain and shows it the account. Changes nothing. What it objects to is an answer. */
  inquire(access: DomainAccess): Promise<Inquiry>;

  /** Makes the machine a member. When that fails it is none. `heard` is told each line of the log. */
  join(joining: Joining, heard: (line: string) => void): Promise<void>;

  /** Gives the membership up, in the domain and here. */
  leave(joining: Joining, heard: (line: string) => void): Promise<void>;

  /** Gives it up here alone: the domain is not told. */
  forget(): Promise<void>;

  /** What the machine has the keys of. */
  membership(): Promise<Membership | undefined>;

  /** Whether somebody listens at this TCP port within so many seconds. */
  answers(server: { readonly host: string; readonly port: number }, seconds: number): Promise<boolean>;
}

export interface Membership {
  /** DNS name of the domain, in small letters. */
  readonly domain: string;
  /** What the machine is called there, in small letters. */
  readonly machine: string;
}

export interface DomainAccess {
  /** DNS name of the domain: `corp.example.com`. */
  readonly domain: string;
  /** Who asks: with a password, or with a key of a keytab, whose bytes are in base64. */
  readonly account:
    | { readonly name: string; readonly password: string }
    | { readonly principal: string; readonly keytab: string };
  /** The controller to speak to; any that DNS names when undefined. */
  readonly server: string | undefined;
  /** Servers of Kerberos tickets; looked up in DNS when empty. */
  readonly ticketServers: readonly string[];
  /** The site whose controllers are preferred. */
  readonly site: string | undefined;
  /** How questions to the directory are protected. */
  readonly protection: 'plain' | 'sign' | 'seal' | 'ldaps' | 'starttls';
  /** Certificate in PEM of the authority that a controller's must be signed by. */
  readonly authority: string | undefined;
  /** For each of the programs that ask. */
  readonly seconds: number;
  /** To find the domain. */
  readonly dnsSeconds: number;
}

export interface Joining extends DomainAccess {
  /** The old name of the domain: `CORP`. */
  readonly workgroup: string;
  /** What the machine is called there. */
  readonly netbiosName: string;
  /** Whether the machine's addresses are entered into the domain's DNS. */
  readonly dnsUpdates: boolean;
}

export type Inquiry =
  | {
      readonly found: true;
      readonly workgroup: string /** Controllers of the site that was asked for. */;
      readonly siteServers: readonly string[];
    }
  | {
      readonly found: false;
      readonly objection: DomainObjection /** The program's own words. */;
      readonly said: string;
    };

/** `site` when the domain has no such site; `other` when only the words tell. */
export type DomainObjection = 'unreachable' | 'account' | 'password' | 'expired' | 'clock' | 'site' | 'other';
