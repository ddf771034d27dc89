/** The machine as a member of an Active Directory domain. */
export interface Domain {
  /** Finds the domain and authenticates the account there. Changes nothing. A refusal is returned, not thrown. */
  inquire(access: DomainAccess): Promise<Inquiry>;

  /** Joins the machine to the domain. After a failure it is not a member. `onLine` receives each line of the log. */
  join(joining: Joining, onLine: (line: string) => void): Promise<void>;

  /** Ends the membership, in the domain and on this machine. */
  leave(joining: Joining, onLine: (line: string) => void): Promise<void>;

  /** Ends the membership on this machine only, without contacting the domain. */
  forget(): Promise<void>;

  /** The domain that the machine has keys of. */
  membership(): Promise<Membership | undefined>;

  /** Whether this TCP port accepts a connection within so many seconds. */
  answers(server: { readonly host: string; readonly port: number }, seconds: number): Promise<boolean>;
}

export interface Membership {
  /** DNS name of the domain, in lower case. */
  readonly domain: string;
  /** The machine's name in the domain, in lower case. */
  readonly machine: string;
}

export interface DomainAccess {
  /** DNS name of the domain: `corp.example.com`. */
  readonly domain: string;
  /** The account that authenticates, by a password or by a keytab in base64. */
  readonly account:
    | { readonly name: string; readonly password: string }
    | { readonly principal: string; readonly keytab: string };
  /** The domain controller to use; undefined to choose one by DNS. */
  readonly server: string | undefined;
  /** Kerberos KDCs; looked up in DNS when empty. */
  readonly ticketServers: readonly string[];
  /** The site whose controllers are preferred. */
  readonly site: string | undefined;
  /** How LDAP queries are protected. */
  readonly protection: 'plain' | 'sign' | 'seal' | 'ldaps' | 'starttls';
  /** Certificate in PEM of the authority that must have signed the controller's certificate. */
  readonly authority: string | undefined;
  /** Time limit of each program. */
  readonly seconds: number;
  /** Time limit for finding the domain. */
  readonly dnsSeconds: number;
}

export interface Joining extends DomainAccess {
  /** NetBIOS name of the domain: `CORP`. */
  readonly workgroup: string;
  /** NetBIOS name of the machine. */
  readonly netbiosName: string;
  /** Whether the machine registers its addresses in the domain's DNS. */
  readonly dnsUpdates: boolean;
}

export type Inquiry =
  | {
      readonly found: true;
      readonly workgroup: string;
      /** Controllers of the requested site. */
      readonly siteServers: readonly string[];
    }
  | {
      readonly found: false;
      readonly objection: DomainObjection;
      /** The message of the program. */
      readonly said: string;
    };

/** `site` when the domain has no such site; `other` when only the message describes the reason. */
export type DomainObjection = 'unreachable' | 'account' | 'password' | 'expired' | 'clock' | 'site' | 'other';
