/** Entry N migrates the database from version N to N + 1. Released entries are never changed. */
export const migrations: readonly string[] = [
  `
  CREATE TABLE documents (resource TEXT NOT NULL, id INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (resource, id)) WITHOUT ROWID;
  CREATE TABLE sequences (resource TEXT PRIMARY KEY, last INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE revisions (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL, actor TEXT NOT NULL, request TEXT NOT NULL, title TEXT NOT NULL, changes TEXT NOT NULL
  );
  CREATE TABLE jobs (id INTEGER PRIMARY KEY AUTOINCREMENT, subject TEXT NOT NULL, body TEXT NOT NULL);
  CREATE INDEX jobs_by_subject ON jobs (subject, id);
  `,
  // A change that waits to be confirmed, and the earlier body of each record that it changed; null for a new record.
  `
  CREATE TABLE provisional (title TEXT NOT NULL, request TEXT NOT NULL, until INTEGER NOT NULL, cuts INTEGER NOT NULL);
  CREATE TABLE provisional_records (resource TEXT NOT NULL, id INTEGER NOT NULL, body TEXT, PRIMARY KEY (resource, id)) WITHOUT ROWID;
  `,
  // The alternative names of a certificate were one text with spaces.
  `
  UPDATE documents SET body = json_set(body, '$.cert_san',
    json(iif(body ->> '$.cert_san' IS NULL, '[]', '[' || replace(json_quote(body ->> '$.cert_san'), ' ', '","') || ']')))
    WHERE resource IN ('system/certificate', 'system/certificateauthority');
  `,
  // The default records of a fresh system, and the automatic backups.
  `
  CREATE TABLE fresh (resource TEXT NOT NULL, id INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (resource, id)) WITHOUT ROWID;
  CREATE TABLE backups (number INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, title TEXT NOT NULL, body TEXT NOT NULL);
  `,
  // The journal: plans that have begun and not ended. The body is sealed.
  `
  CREATE TABLE plans (id INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT NOT NULL);
  `,
  // Requests with an Idempotency-Key. The answer is sealed, and null until the request has ended.
  `
  CREATE TABLE retries (
    id TEXT PRIMARY KEY, fingerprint TEXT NOT NULL, request TEXT NOT NULL, at INTEGER NOT NULL, answer TEXT
  ) WITHOUT ROWID;
  `,
  // When and from where each key was last used.
  `
  CREATE TABLE key_uses (key INTEGER PRIMARY KEY, at INTEGER NOT NULL, address TEXT NOT NULL);
  `,
  // The client's comment on a change, and the secret values that `changes` masks, sealed; null if it cannot be reverted.
  `
  ALTER TABLE revisions ADD COLUMN comment TEXT;
  ALTER TABLE revisions ADD COLUMN masked TEXT;
  `,
  // What happened, for programs that follow it. Numbers are never given twice.
  `
  CREATE TABLE events (number INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, name TEXT NOT NULL, payload TEXT NOT NULL);
  `,
  // The answer to the request that became a job, sealed. What jobs report is found by their number.
  `
  ALTER TABLE jobs ADD COLUMN answer TEXT;
  CREATE INDEX events_of_jobs ON events (payload ->> '$.id', number) WHERE name = 'job.progress';
  `,
  // Where each webhook is among the events, and the events that it gave up.
  `
  CREATE TABLE webhooks (
    webhook INTEGER PRIMARY KEY, cursor INTEGER NOT NULL, attempts INTEGER NOT NULL, failing INTEGER, next INTEGER NOT NULL,
    problem TEXT NOT NULL, lost INTEGER NOT NULL
  );
  CREATE TABLE dead_letters (
    webhook INTEGER NOT NULL, number INTEGER NOT NULL, at TEXT NOT NULL, name TEXT NOT NULL, payload TEXT NOT NULL,
    given_up INTEGER NOT NULL, problem TEXT NOT NULL, PRIMARY KEY (webhook, number)
  ) WITHOUT ROWID;
  `,
  // What each channel has reported, and the time of notes until which a problem is not reported.
  `
  CREATE TABLE channels (channel INTEGER PRIMARY KEY, body TEXT NOT NULL);
  UPDATE documents SET body = json_set(body, '$.snoozed_until', 0) WHERE resource = 'system/alertnote';
  `,
  // The files of others that a revision replaced, and where they are kept.
  `
  CREATE TABLE replaced_files (
    revision INTEGER NOT NULL, path TEXT NOT NULL, kept TEXT NOT NULL, PRIMARY KEY (revision, path)
  ) WITHOUT ROWID;
  `,
];
