-- Keys hold their thread in the upper half: thread << 32 | number. A thread is a range of every table.
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE names (id INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE);
CREATE TABLE threads (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    digest BLOB NOT NULL UNIQUE,
    owner_digest BLOB NOT NULL,
    owner BLOB NOT NULL,
    thread_id BLOB NOT NULL,
    version INTEGER NOT NULL,
    sweep INTEGER NOT NULL,
    head INTEGER,
    next_seq INTEGER NOT NULL,
    next_content INTEGER NOT NULL,
    next_position INTEGER NOT NULL,
    next_run INTEGER NOT NULL,
    next_namespace INTEGER NOT NULL,
    next_branch INTEGER NOT NULL,
    next_call INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    checkpoints INTEGER NOT NULL,
    status INTEGER NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    title BLOB,
    preview BLOB NOT NULL,
    metadata BLOB
);
CREATE INDEX threads_updated ON threads (owner_digest, updated);
CREATE TABLE labels (
    digest BLOB NOT NULL, thread INTEGER NOT NULL, PRIMARY KEY (digest, thread)
) WITHOUT ROWID;
CREATE INDEX labels_thread ON labels (thread);
CREATE TABLE contents (key INTEGER PRIMARY KEY, codec INTEGER NOT NULL, message_id BLOB, body BLOB NOT NULL);
CREATE TABLE sequences (key INTEGER PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE checkpoints (
    key INTEGER PRIMARY KEY,
    namespace INTEGER NOT NULL,
    id BLOB NOT NULL,
    parent INTEGER,
    run INTEGER NOT NULL,
    step INTEGER NOT NULL,
    source INTEGER NOT NULL,
    branch INTEGER NOT NULL,
    hidden INTEGER NOT NULL,
    body BLOB NOT NULL
);
CREATE INDEX checkpoints_id ON checkpoints (id);
CREATE TABLE namespaces (
    thread INTEGER NOT NULL, name BLOB NOT NULL, number INTEGER NOT NULL, head INTEGER,
    PRIMARY KEY (thread, name)
) WITHOUT ROWID;
CREATE TABLE branches (
    key INTEGER PRIMARY KEY, parent INTEGER, forked INTEGER, tip INTEGER NOT NULL
);
CREATE TABLE runs (key INTEGER PRIMARY KEY, run_id BLOB, body BLOB NOT NULL);
CREATE INDEX runs_run_id ON runs (run_id) WHERE run_id IS NOT NULL;
CREATE TABLE writes (
    thread INTEGER NOT NULL, checkpoint BLOB NOT NULL, namespace INTEGER NOT NULL, task BLOB NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (thread, checkpoint, namespace, task)
) WITHOUT ROWID;
CREATE TABLE transcript (
    key INTEGER PRIMARY KEY, content INTEGER NOT NULL, entered INTEGER NOT NULL, branch INTEGER NOT NULL,
    departed INTEGER, tag INTEGER
);
CREATE INDEX transcript_tag ON transcript (tag) WHERE tag IS NOT NULL;
CREATE TABLE calls (
    key INTEGER PRIMARY KEY,
    call_id BLOB,
    run_id BLOB,
    tag INTEGER,
    message_id BLOB,
    at INTEGER NOT NULL,
    status INTEGER NOT NULL,
    purpose INTEGER NOT NULL,
    origin INTEGER NOT NULL,
    copied INTEGER NOT NULL,
    model BLOB,
    provider BLOB,
    input INTEGER,
    output INTEGER,
    cache_read INTEGER,
    cache_write INTEGER,
    reasoning INTEGER,
    price TEXT,
    body BLOB NOT NULL
);
CREATE INDEX calls_call_id ON calls (call_id) WHERE call_id IS NOT NULL;
CREATE INDEX calls_tag ON calls (tag) WHERE tag IS NOT NULL;
CREATE TABLE sent (
    thread INTEGER NOT NULL, digest BLOB NOT NULL, content INTEGER NOT NULL, PRIMARY KEY (thread, digest)
) WITHOUT ROWID;
CREATE TABLE reservations (
    key INTEGER PRIMARY KEY, run_id BLOB, tokens INTEGER NOT NULL, money TEXT, expires INTEGER
);
CREATE TABLE notes (
    thread INTEGER NOT NULL, kind INTEGER NOT NULL, policy BLOB NOT NULL, digest BLOB NOT NULL,
    at INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (thread, kind, policy, digest)
) WITHOUT ROWID;
CREATE TABLE pins (
    thread INTEGER NOT NULL, message_id BLOB NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (thread, message_id)
) WITHOUT ROWID;
CREATE TABLE audit (
    key INTEGER PRIMARY KEY, at INTEGER NOT NULL, action INTEGER NOT NULL, actor BLOB NOT NULL, body BLOB NOT NULL
);
CREATE TABLE calibrations (model BLOB PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID;
