-- name: meta
-- Read the schema version and other facts about the database.
SELECT name, value FROM meta;

-- name: names
-- Read the dictionary of channel, node and task path names.
SELECT id, name FROM names;

-- name: add_name
-- Add a name to the dictionary unless somebody just did.
INSERT OR IGNORE INTO names (name) VALUES (?);

-- name: thread
-- Find a thread by the digest of its owner and id.
SELECT id, version, sweep, head, next_seq, next_content, next_position, next_run, next_namespace,
       next_branch, next_call, messages, checkpoints, status, updated, title IS NOT NULL
FROM threads WHERE digest = ?;

-- name: thread_put
-- Find a thread with the run it last stored, and what it has under a checkpoint's id.
SELECT t.id, version, sweep, head, next_seq, next_content, next_position, next_run, next_namespace,
       next_branch, next_call, messages, checkpoints, status, updated, title IS NOT NULL,
       (SELECT body FROM runs WHERE key = (t.id << 32) | (t.next_run - 1)),
       (SELECT count(*) FROM checkpoints c
        WHERE c.id = ? AND c.key BETWEEN t.id << 32 AND (t.id << 32) | 4294967295)
FROM threads t WHERE digest = ?;

-- name: thread_writes
-- Find a thread with what a task has written at a checkpoint of the root namespace.
SELECT t.id, version, sweep, head, next_seq, next_content, next_position, next_run, next_namespace,
       next_branch, next_call, messages, checkpoints, status, updated, title IS NOT NULL,
       (SELECT body FROM writes WHERE thread = t.id AND checkpoint = ? AND namespace = 0 AND task = ?)
FROM threads t WHERE digest = ?;

-- name: thread_info
-- Read what the list of threads shows of one thread.
SELECT id, owner, thread_id, title, preview, metadata, status, messages, checkpoints, created, updated
FROM threads WHERE digest = ?;

-- name: thread_infos
-- Read one page of threads of an owner, newest first.
SELECT id, owner, thread_id, title, preview, metadata, status, messages, checkpoints, created, updated
FROM threads WHERE owner_digest = ? AND checkpoints > 0 AND updated >= ? AND (updated, id) < (?, ?)
ORDER BY updated DESC, id DESC LIMIT ?;

-- name: thread_infos_labelled
-- Read one page of threads of an owner that carry a label, newest first.
SELECT id, owner, thread_id, title, preview, metadata, status, messages, checkpoints, created, updated
FROM threads WHERE owner_digest = ? AND checkpoints > 0 AND updated >= ? AND (updated, id) < (?, ?)
  AND id IN (SELECT thread FROM labels WHERE digest = ?)
ORDER BY updated DESC, id DESC LIMIT ?;

-- name: thread_page
-- Walk all threads in order of their keys.
SELECT id, digest, owner_digest, owner, thread_id FROM threads WHERE id > ? ORDER BY id LIMIT ?;

-- name: count_threads
-- Count all threads.
SELECT count(*) FROM threads;

-- name: count_owner_threads
-- Count the threads of an owner.
SELECT count(*) FROM threads WHERE owner_digest = ?;

-- name: thread_by_key
-- Find a thread's name by its key.
SELECT owner_digest, owner, thread_id FROM threads WHERE id = ?;

-- name: add_thread
-- Create a thread.
INSERT INTO threads (digest, owner_digest, owner, thread_id, version, sweep, head, next_seq, next_content,
    next_position, next_run, next_namespace, next_branch, next_call, messages, checkpoints, status, created,
    updated, title, preview, metadata)
VALUES (?, ?, ?, ?, 0, 0, NULL, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, ?, ?, NULL, x'', NULL) RETURNING id;

-- name: put_thread
-- Record what a put changed in its thread.
UPDATE threads SET version = ?, head = ?, next_seq = ?, next_content = ?, next_position = ?, next_run = ?,
    next_namespace = ?, next_branch = ?, next_call = ?, messages = ?, checkpoints = ?, status = ?, updated = ?,
    title = coalesce(title, ?), preview = coalesce(?, preview)
WHERE id = ?;

-- name: claim_contents
-- Reserve content numbers, call numbers and namespaces for writes.
UPDATE threads SET next_content = ?, next_namespace = ?, next_call = ? WHERE id = ?;

-- name: set_status
-- Record whether a thread waits for a human, failed, or goes on.
UPDATE threads SET status = ? WHERE id = ?;

-- name: set_thread
-- Change a thread's title and metadata.
UPDATE threads SET title = ?, metadata = ?, updated = ? WHERE id = ?;

-- name: set_counts
-- Correct a thread's head and counts after checkpoints went, and say that its contents changed.
UPDATE threads SET version = version + 1, sweep = sweep + 1, head = ?, checkpoints = ?, messages = ?, status = ?
WHERE id = ?;

-- name: copy_thread_row
-- Give a copied thread its source's counters and texts.
UPDATE threads SET version = 1, sweep = 1, head = s.head, next_seq = s.next_seq, next_content = s.next_content,
    next_position = s.next_position, next_run = s.next_run, next_namespace = s.next_namespace,
    next_branch = s.next_branch, next_call = s.next_call, messages = s.messages, checkpoints = s.checkpoints,
    status = s.status, title = s.title, preview = s.preview, metadata = s.metadata
FROM (SELECT * FROM threads WHERE id = ?) AS s WHERE threads.id = ?;

-- name: add_label
-- Make a thread findable by one metadata entry.
INSERT OR IGNORE INTO labels (digest, thread) VALUES (?, ?);

-- name: drop_labels
-- Remove a thread's labels.
DELETE FROM labels WHERE thread = ?;

-- name: copy_labels
-- Give a copied thread its source's labels.
INSERT OR IGNORE INTO labels (digest, thread) SELECT digest, ? FROM labels WHERE thread = ?;

-- name: add_content
-- Store one value.
INSERT OR REPLACE INTO contents (key, codec, message_id, body) VALUES (?, ?, ?, ?);

-- name: contents_range
-- Read the values of a range of numbers.
SELECT key, codec, message_id, body FROM contents WHERE key BETWEEN ? AND ?;

-- name: contents_list
-- Read the values with given numbers.
SELECT key, codec, message_id, body FROM contents WHERE key IN (SELECT value FROM json_each(?));

-- name: content_keys
-- Read which values a thread has and how large they are.
SELECT key, length(body) FROM contents WHERE key BETWEEN ? AND ?;

-- name: drop_contents
-- Remove values that nothing refers to.
DELETE FROM contents WHERE key = ?;

-- name: add_sequence
-- Store one version of a list or mapping.
INSERT OR REPLACE INTO sequences (key, body) VALUES (?, ?);

-- name: sequence
-- Read one version of a list or mapping.
SELECT key, body FROM sequences WHERE key = ?;

-- name: sequences_range
-- Read the versions between a full one and the one asked for.
SELECT key, body FROM sequences WHERE key BETWEEN ? AND ?;

-- name: drop_sequences
-- Remove versions that nothing refers to.
DELETE FROM sequences WHERE key = ?;

-- name: find_checkpoint
-- Find a checkpoint of a thread by its id.
SELECT key, namespace, parent, run, step, source, branch, hidden FROM checkpoints
WHERE id = ? AND key BETWEEN ? AND ? AND namespace = ?;

-- name: checkpoint
-- Read one checkpoint.
SELECT key, namespace, id, parent, run, step, source, branch, hidden, body FROM checkpoints WHERE key = ?;

-- name: checkpoint_id
-- Read the id of a checkpoint that is not hidden.
SELECT id FROM checkpoints WHERE key = ? AND hidden = 0;

-- name: checkpoint_chain
-- Read a checkpoint and its ancestors, nearest first, at most as many as asked for.
WITH RECURSIVE chain (key, n) AS (
    SELECT ?, 1
    UNION ALL
    SELECT (chain.key >> 32) << 32 | c.parent, n + 1 FROM chain CROSS JOIN checkpoints c ON c.key = chain.key
    WHERE c.parent IS NOT NULL AND n < ?
)
SELECT c.key, namespace, id, parent, run, step, source, branch, hidden, body
FROM chain CROSS JOIN checkpoints c ON c.key = chain.key ORDER BY n;

-- name: checkpoints_before
-- Read one page of a namespace's checkpoints, newest first.
SELECT key, namespace, id, parent, run, step, source, branch, hidden, body FROM checkpoints
WHERE key BETWEEN ? AND ? AND namespace = ? AND hidden = 0 ORDER BY key DESC LIMIT ?;

-- name: checkpoints_before_any
-- Read one page of a thread's checkpoints in every namespace, newest first.
SELECT key, namespace, id, parent, run, step, source, branch, hidden, body FROM checkpoints
WHERE key BETWEEN ? AND ? AND hidden = 0 ORDER BY key DESC LIMIT ?;

-- name: checkpoints_all
-- Read every checkpoint of a thread, hidden ones included.
SELECT key, namespace, id, parent, run, step, source, branch, hidden, body FROM checkpoints
WHERE key BETWEEN ? AND ? ORDER BY key;

-- name: add_checkpoint
-- Store a checkpoint.
INSERT INTO checkpoints (key, namespace, id, parent, run, step, source, branch, hidden, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, ?);

-- name: replace_checkpoint
-- Store a checkpoint in the place of one with the same id.
UPDATE checkpoints SET parent = ?, run = ?, step = ?, source = ?, body = ? WHERE key = ?;

-- name: rebase_checkpoint
-- Store a checkpoint's full body and parent after its ancestors went.
UPDATE checkpoints SET parent = ?, hidden = ?, body = ? WHERE key = ?;

-- name: children
-- Find the checkpoints that were stored as changes to another.
SELECT key FROM checkpoints WHERE key BETWEEN ? AND ? AND parent = ?;

-- name: drop_checkpoint
-- Remove a checkpoint.
DELETE FROM checkpoints WHERE key = ?;

-- name: namespace
-- Find a namespace of a thread.
SELECT number, head FROM namespaces WHERE thread = ? AND name = ?;

-- name: namespaces
-- Read all namespaces of a thread.
SELECT name, number, head FROM namespaces WHERE thread = ?;

-- name: put_namespace
-- Record a namespace and its newest checkpoint.
INSERT INTO namespaces (thread, name, number, head) VALUES (?, ?, ?, ?)
ON CONFLICT (thread, name) DO UPDATE SET head = coalesce(excluded.head, head);

-- name: set_namespace_head
-- Correct a namespace's newest checkpoint.
UPDATE namespaces SET head = ? WHERE thread = ? AND number = ?;

-- name: drop_namespace
-- Remove a namespace that holds nothing.
DELETE FROM namespaces WHERE thread = ? AND number = ?;

-- name: branches
-- Read the branches of a thread.
SELECT key, parent, forked, tip FROM branches WHERE key BETWEEN ? AND ?;

-- name: put_branch
-- Record a branch and its newest checkpoint.
INSERT INTO branches (key, parent, forked, tip) VALUES (?, ?, ?, ?)
ON CONFLICT (key) DO UPDATE SET tip = excluded.tip;

-- name: branch_tip
-- Read the newest checkpoint of a branch.
SELECT tip FROM branches WHERE key = ?;

-- name: drop_branch
-- Remove a branch that has no checkpoint left.
DELETE FROM branches WHERE key = ?;

-- name: add_run
-- Store what the checkpoints of a run have in common.
INSERT INTO runs (key, run_id, body) VALUES (?, ?, ?);

-- name: run
-- Read what the checkpoints of a run have in common.
SELECT key, body FROM runs WHERE key = ?;

-- name: runs_range
-- Read the runs of a thread.
SELECT key, run_id, body FROM runs WHERE key BETWEEN ? AND ?;

-- name: runs_by_id
-- Find the runs with a given id in every thread.
SELECT key FROM runs WHERE run_id = ?;

-- name: drop_run
-- Remove a run that has no checkpoint left.
DELETE FROM runs WHERE key = ?;

-- name: writes
-- Read the pending writes of a checkpoint.
SELECT task, body FROM writes WHERE thread = ? AND checkpoint = ? AND namespace = ?;

-- name: write
-- Read the pending writes of one task at a checkpoint.
SELECT body FROM writes WHERE thread = ? AND checkpoint = ? AND namespace = ? AND task = ?;

-- name: writes_all
-- Read every pending write of a thread.
SELECT checkpoint, namespace, task, body FROM writes WHERE thread = ?;

-- name: put_write
-- Store the pending writes of one task at a checkpoint.
INSERT OR REPLACE INTO writes (thread, checkpoint, namespace, task, body) VALUES (?, ?, ?, ?, ?);

-- name: drop_writes
-- Remove the pending writes of a checkpoint.
DELETE FROM writes WHERE thread = ? AND checkpoint = ? AND namespace = ?;

-- name: add_transcript
-- Record that a message entered the state.
INSERT INTO transcript (key, content, entered, branch, departed, tag) VALUES (?, ?, ?, ?, NULL, ?);

-- name: depart
-- Record that messages left the state.
UPDATE transcript SET departed = ? WHERE key BETWEEN ? AND ? AND departed IS NULL
  AND content IN (SELECT value FROM json_each(?));

-- name: transcript
-- Read the record of a thread in order.
SELECT key, content, entered, branch, departed FROM transcript WHERE key BETWEEN ? AND ? ORDER BY key;

-- name: transcript_entered
-- Read what entered a thread's record with one checkpoint.
SELECT key, content FROM transcript WHERE key BETWEEN ? AND ? AND entered = ?;

-- name: transcript_known
-- Tell which tags a record has already.
SELECT DISTINCT tag FROM transcript WHERE tag IN (SELECT value FROM json_each(?));

-- name: transcript_tagged
-- Find a message of a thread's record by the tag of its id, first entry first.
SELECT t.content, t.entered, t.branch, c.message_id FROM transcript t
JOIN contents c ON c.key = (t.key >> 32) << 32 | t.content WHERE t.tag = ? ORDER BY t.key;

-- name: add_call
-- Record one model call.
INSERT OR REPLACE INTO calls (key, call_id, run_id, tag, message_id, at, status, purpose, origin, copied, model,
    provider, input, output, cache_read, cache_write, reasoning, price, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: calls
-- Read the model calls of a thread in order.
SELECT key, call_id, run_id, message_id, at, status, purpose, origin, model, provider, input, output, cache_read,
       cache_write, reasoning, price, body
FROM calls WHERE key BETWEEN ? AND ? ORDER BY key;

-- name: call
-- Read one model call.
SELECT key, call_id, run_id, message_id, at, status, purpose, origin, model, provider, input, output, cache_read,
       cache_write, reasoning, price, body
FROM calls WHERE key = ?;

-- name: call_by_id
-- Find a model call of a thread by the id its runtime gave it.
SELECT key, status FROM calls WHERE call_id = ? AND key BETWEEN ? AND ?;

-- name: calls_tagged
-- Find the model calls whose answers have one of these tags of ids.
SELECT key, message_id, origin FROM calls WHERE tag IN (SELECT value FROM json_each(?));

-- name: call_bodies
-- Read what the model calls of a thread refer to.
SELECT key, body FROM calls WHERE key BETWEEN ? AND ?;

-- name: owner_calls
-- Read what an owner's model calls took since a time, equal ones counted together; copies are left out.
SELECT c.purpose, c.status, c.origin, c.model, c.provider, c.input, c.output, c.cache_read, c.cache_write,
       c.reasoning, c.price, count(*), max(c.at)
FROM threads t CROSS JOIN calls c ON c.key BETWEEN t.id << 32 AND (t.id << 32) | 4294967295
WHERE t.owner_digest = ? AND c.at >= ? AND c.copied = 0
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11;

-- name: spent
-- Read what a thread's model calls took, of one run where one is given; answers from a cache cost nothing.
SELECT input, output, price, model, count(*) FROM calls
WHERE key BETWEEN ?1 AND ?2 AND purpose <> ?3 AND (?4 IS NULL OR run_id = ?4) GROUP BY 1, 2, 3, 4;

-- name: reserved
-- Read what is set aside for model calls that are on their way, of one run where one is given.
SELECT tokens, money FROM reservations
WHERE key BETWEEN ?1 AND ?2 AND (expires IS NULL OR expires > ?3) AND (?4 IS NULL OR run_id = ?4);

-- name: add_reservation
-- Set tokens and money aside for a model call.
INSERT INTO reservations (key, run_id, tokens, money, expires)
SELECT coalesce(max(key), ?1) + 1, ?3, ?4, ?5, ?6 FROM reservations WHERE key BETWEEN ?1 AND ?2 RETURNING key;

-- name: reservations
-- Read what a thread has set aside.
SELECT key, money FROM reservations WHERE key BETWEEN ? AND ?;

-- name: drop_stale_reservations
-- Remove what was set aside by those who died.
DELETE FROM reservations WHERE key BETWEEN ? AND ? AND expires <= ?;

-- name: drop_reservation
-- Remove what was set aside for a model call.
DELETE FROM reservations WHERE key = ?;

-- name: hold_reservation
-- Keep what was set aside for a model call of which nobody knows what it took.
UPDATE reservations SET expires = NULL WHERE key = ?;

-- name: sent_known
-- Find a content that only model calls were sent by its digest.
SELECT content FROM sent WHERE thread = ? AND digest = ?;

-- name: add_sent
-- Make a content that only model calls were sent findable.
INSERT OR REPLACE INTO sent (thread, digest, content) VALUES (?, ?, ?);

-- name: sent_all
-- Read which contents a thread has for its model calls.
SELECT digest, content FROM sent WHERE thread = ?;

-- name: transcript_contents
-- Find the contents of a record's messages by the tags of their ids.
SELECT tag, content FROM transcript WHERE tag IN (SELECT value FROM json_each(?));

-- name: note
-- Read a policy's note on covered contents by the digest of these.
SELECT at, body FROM notes WHERE thread = ? AND kind = ? AND policy = ? AND digest = ?;

-- name: add_note
-- Store a note unless there is one.
INSERT OR IGNORE INTO notes (thread, kind, policy, digest, at, body) VALUES (?, ?, ?, ?, ?, ?);

-- name: notes_all
-- Read every note of a thread.
SELECT kind, policy, digest, at, body FROM notes WHERE thread = ? ORDER BY at;

-- name: drop_note
-- Remove a note.
DELETE FROM notes WHERE thread = ? AND kind = ? AND policy = ? AND digest = ?;

-- name: add_pin
-- Pin a message.
INSERT OR IGNORE INTO pins (thread, message_id, at) VALUES (?, ?, ?);

-- name: drop_pin
-- Unpin a message.
DELETE FROM pins WHERE thread = ? AND message_id = ? RETURNING message_id;

-- name: pins
-- Read the pinned messages of a thread, oldest pin first.
SELECT message_id, at FROM pins WHERE thread = ? ORDER BY at, message_id;

-- name: add_audit
-- Record who did what.
INSERT INTO audit (key, at, action, actor, body)
SELECT coalesce(max(key), ?1) + 1, ?3, ?4, ?5, ?6 FROM audit WHERE key BETWEEN ?1 AND ?2;

-- name: audit
-- Read who did what to a thread, in order.
SELECT key, at, action, actor, body FROM audit WHERE key BETWEEN ? AND ? ORDER BY key;

-- name: calibration
-- Read what was learned of a model's way of counting.
SELECT body FROM calibrations WHERE model = ?;

-- name: put_calibration
-- Store what was learned of a model's way of counting.
INSERT OR REPLACE INTO calibrations (model, body) VALUES (?, ?);

-- name: count_messages
-- Count the messages of a thread's record, one that was replaced under its id once.
SELECT count(DISTINCT tag) + count(*) - count(tag) FROM transcript WHERE key BETWEEN ? AND ?;

-- name: drop_thread_row
-- Remove a thread's row.
DELETE FROM threads WHERE id = ?;

-- name: drop_thread_writes
-- Remove a thread's pending writes.
DELETE FROM writes WHERE thread = ?;

-- name: drop_thread_namespaces
-- Remove a thread's namespaces.
DELETE FROM namespaces WHERE thread = ?;

-- name: drop_thread_contents
-- Remove a thread's values.
DELETE FROM contents WHERE key BETWEEN ? AND ?;

-- name: drop_thread_sequences
-- Remove a thread's list versions.
DELETE FROM sequences WHERE key BETWEEN ? AND ?;

-- name: drop_thread_checkpoints
-- Remove a thread's checkpoints.
DELETE FROM checkpoints WHERE key BETWEEN ? AND ?;

-- name: drop_thread_branches
-- Remove a thread's branches.
DELETE FROM branches WHERE key BETWEEN ? AND ?;

-- name: drop_thread_runs
-- Remove a thread's runs.
DELETE FROM runs WHERE key BETWEEN ? AND ?;

-- name: drop_thread_transcript
-- Remove a thread's record.
DELETE FROM transcript WHERE key BETWEEN ? AND ?;

-- name: drop_thread_calls
-- Remove a thread's model calls.
DELETE FROM calls WHERE key BETWEEN ? AND ?;

-- name: drop_thread_audit
-- Remove what was done to a thread.
DELETE FROM audit WHERE key BETWEEN ? AND ?;

-- name: drop_thread_reservations
-- Remove what a thread has set aside.
DELETE FROM reservations WHERE key BETWEEN ? AND ?;

-- name: drop_thread_sent
-- Remove which contents a thread has for its model calls.
DELETE FROM sent WHERE thread = ?;

-- name: drop_thread_notes
-- Remove a thread's notes.
DELETE FROM notes WHERE thread = ?;

-- name: drop_thread_pins
-- Remove a thread's pins.
DELETE FROM pins WHERE thread = ?;

-- name: copy_contents
-- Copy a thread's values.
INSERT INTO contents (key, codec, message_id, body)
SELECT key - ? + ?, codec, message_id, body FROM contents WHERE key BETWEEN ? AND ?;

-- name: copy_sequences
-- Copy a thread's list versions.
INSERT INTO sequences (key, body)
SELECT key - ? + ?, body FROM sequences WHERE key BETWEEN ? AND ?;

-- name: copy_checkpoints
-- Copy a thread's checkpoints.
INSERT INTO checkpoints (key, namespace, id, parent, run, step, source, branch, hidden, body)
SELECT key - ? + ?, namespace, id, parent, run, step, source, branch, hidden, body
FROM checkpoints WHERE key BETWEEN ? AND ?;

-- name: copy_branches
-- Copy a thread's branches.
INSERT INTO branches (key, parent, forked, tip)
SELECT key - ? + ?, parent, forked, tip FROM branches WHERE key BETWEEN ? AND ?;

-- name: copy_runs
-- Copy a thread's runs.
INSERT INTO runs (key, run_id, body) SELECT key - ? + ?, run_id, body FROM runs WHERE key BETWEEN ? AND ?;

-- name: copy_transcript
-- Copy a thread's record.
INSERT INTO transcript (key, content, entered, branch, departed, tag)
SELECT key - ?1 + ?2, content, entered, branch, departed, tag - ?1 + ?2 FROM transcript WHERE key BETWEEN ?3 AND ?4;

-- name: copy_calls
-- Copy a thread's model calls; the copies are no calls of their own.
INSERT INTO calls (key, call_id, run_id, tag, message_id, at, status, purpose, origin, copied, model, provider,
    input, output, cache_read, cache_write, reasoning, price, body)
SELECT key - ?1 + ?2, call_id, run_id, tag - ?1 + ?2, message_id, at, status, purpose, origin, 1, model, provider,
    input, output, cache_read, cache_write, reasoning, price, body FROM calls WHERE key BETWEEN ?3 AND ?4;

-- name: copy_audit
-- Copy what was done to a thread.
INSERT INTO audit (key, at, action, actor, body)
SELECT key - ? + ?, at, action, actor, body FROM audit WHERE key BETWEEN ? AND ?;

-- name: copy_reservations
-- Copy what was set aside for model calls of which nobody knows what they took.
INSERT INTO reservations (key, run_id, tokens, money, expires)
SELECT key - ? + ?, run_id, tokens, money, expires FROM reservations
WHERE key BETWEEN ? AND ? AND expires IS NULL;

-- name: copy_sent
-- Copy which contents a thread has for its model calls.
INSERT INTO sent (thread, digest, content) SELECT ?, digest, content FROM sent WHERE thread = ?;

-- name: copy_notes
-- Copy a thread's notes.
INSERT INTO notes (thread, kind, policy, digest, at, body)
SELECT ?, kind, policy, digest, at, body FROM notes WHERE thread = ?;

-- name: copy_pins
-- Copy a thread's pins.
INSERT INTO pins (thread, message_id, at) SELECT ?, message_id, at FROM pins WHERE thread = ?;

-- name: copy_writes
-- Copy a thread's pending writes.
INSERT INTO writes (thread, checkpoint, namespace, task, body)
SELECT ?, checkpoint, namespace, task, body FROM writes WHERE thread = ?;

-- name: copy_namespaces
-- Copy a thread's namespaces.
INSERT INTO namespaces (thread, name, number, head) SELECT ?, name, number, head FROM namespaces WHERE thread = ?;

-- name: stats_contents
-- Count a thread's values and their bytes.
SELECT count(*), coalesce(sum(length(body) + coalesce(length(message_id), 0)), 0)
FROM contents WHERE key BETWEEN ? AND ?;

-- name: stats_sequences
-- Count a thread's list versions and their bytes.
SELECT count(*), coalesce(sum(length(body)), 0) FROM sequences WHERE key BETWEEN ? AND ?;

-- name: stats_checkpoints
-- Count a thread's checkpoints and their bytes.
SELECT count(*), coalesce(sum(length(body) + length(id)), 0) FROM checkpoints WHERE key BETWEEN ? AND ?;

-- name: stats_branches
-- Count a thread's branches.
SELECT count(*), 0 FROM branches WHERE key BETWEEN ? AND ?;

-- name: stats_runs
-- Count a thread's runs and their bytes.
SELECT count(*), coalesce(sum(length(body)), 0) FROM runs WHERE key BETWEEN ? AND ?;

-- name: stats_transcript
-- Count the entries of a thread's record.
SELECT count(*), count(*) * 16 FROM transcript WHERE key BETWEEN ? AND ?;

-- name: stats_calls
-- Count a thread's model calls and their bytes.
SELECT count(*), coalesce(sum(length(body) + coalesce(length(call_id), 0) + coalesce(length(message_id), 0)
    + coalesce(length(model), 0) + 24), 0) FROM calls WHERE key BETWEEN ? AND ?;

-- name: stats_audit
-- Count the entries of what was done to a thread.
SELECT count(*), coalesce(sum(length(body) + length(actor)), 0) FROM audit WHERE key BETWEEN ? AND ?;

-- name: stats_reservations
-- Count what a thread has set aside.
SELECT count(*), count(*) * 16 FROM reservations WHERE key BETWEEN ? AND ?;

-- name: stats_sent
-- Count the contents a thread has for its model calls.
SELECT count(*), count(*) * 24 FROM sent WHERE thread = ?;

-- name: stats_notes
-- Count a thread's notes and their bytes.
SELECT count(*), coalesce(sum(length(body) + length(policy) + length(digest)), 0) FROM notes WHERE thread = ?;

-- name: stats_pins
-- Count a thread's pins and their bytes.
SELECT count(*), coalesce(sum(length(message_id)), 0) FROM pins WHERE thread = ?;

-- name: stats_writes
-- Count a thread's pending writes and their bytes.
SELECT count(*), coalesce(sum(length(body) + length(checkpoint) + length(task)), 0) FROM writes WHERE thread = ?;

-- name: stats_namespaces
-- Count a thread's namespaces and their bytes.
SELECT count(*), coalesce(sum(length(name)), 0) FROM namespaces WHERE thread = ?;

-- name: stats_labels
-- Count a thread's labels and their bytes.
SELECT count(*), coalesce(sum(length(digest)), 0) FROM labels WHERE thread = ?;

-- name: stats_threads
-- Measure a thread's own row.
SELECT count(*), coalesce(sum(length(thread_id) + length(owner) + coalesce(length(title), 0) + length(preview)
    + coalesce(length(metadata), 0)), 0) FROM threads WHERE id = ?;

-- name: owner_threads
-- Walk an owner's threads, the latest created first.
SELECT id, digest, owner_digest, owner, thread_id FROM threads
WHERE owner_digest = ? AND id < ? ORDER BY id DESC LIMIT ?;

-- name: writes_between
-- Read the pending writes of a namespace's checkpoints in a range of ids.
SELECT checkpoint, task, body FROM writes
WHERE thread = ? AND checkpoint BETWEEN ? AND ? AND namespace = ?;

-- name: content_codecs
-- Read which values a thread has, of which kind, and how large they are.
SELECT key, codec, length(body) FROM contents WHERE key BETWEEN ? AND ?;

-- name: drop_transcript
-- Remove an entry of a thread's record.
DELETE FROM transcript WHERE key = ?;

-- name: integrity
-- Have SQLite check the file.
PRAGMA integrity_check(20);

-- name: stray_contents
-- Find threads that are gone and left rows.
SELECT DISTINCT key >> 32 FROM contents WHERE key >> 32 NOT IN (SELECT id FROM threads);

-- name: stray_sequences
-- Find threads that are gone and left rows.
SELECT DISTINCT key >> 32 FROM sequences WHERE key >> 32 NOT IN (SELECT id FROM threads);

-- name: stray_checkpoints
-- Find threads that are gone and left rows.
SELECT DISTINCT key >> 32 FROM checkpoints WHERE key >> 32 NOT IN (SELECT id FROM threads);

-- name: stray_branches
-- Find threads that are gone and left rows.
SELECT DISTINCT key >> 32 FROM branches WHERE key >> 32 NOT IN (SELECT id FROM threads);

-- name: stray_runs
-- Find threads that are gone and left rows.
SELECT DISTINCT key >> 32 FROM runs WHERE key >> 32 NOT IN (SELECT id FROM threads);

-- name: stray_transcript
-- Find threads that are gone and left rows.
SELECT DISTINCT key >> 32 FROM transcript WHERE key >> 32 NOT IN (SELECT id FROM threads);

-- name: stray_calls
-- Find threads that are gone and left rows.
SELECT DISTINCT key >> 32 FROM calls WHERE key >> 32 NOT IN (SELECT id FROM threads);

-- name: stray_audit
-- Find threads that are gone and left rows.
SELECT DISTINCT key >> 32 FROM audit WHERE key >> 32 NOT IN (SELECT id FROM threads);

-- name: stray_reservations
-- Find threads that are gone and left rows.
SELECT DISTINCT key >> 32 FROM reservations WHERE key >> 32 NOT IN (SELECT id FROM threads);

-- name: stray_sent
-- Find threads that are gone and left rows.
SELECT DISTINCT thread FROM sent WHERE thread NOT IN (SELECT id FROM threads);

-- name: stray_notes
-- Find threads that are gone and left rows.
SELECT DISTINCT thread FROM notes WHERE thread NOT IN (SELECT id FROM threads);

-- name: stray_pins
-- Find threads that are gone and left rows.
SELECT DISTINCT thread FROM pins WHERE thread NOT IN (SELECT id FROM threads);

-- name: stray_writes
-- Find threads that are gone and left rows.
SELECT DISTINCT thread FROM writes WHERE thread NOT IN (SELECT id FROM threads);

-- name: stray_namespaces
-- Find threads that are gone and left rows.
SELECT DISTINCT thread FROM namespaces WHERE thread NOT IN (SELECT id FROM threads);

-- name: stray_labels
-- Find threads that are gone and left rows.
SELECT DISTINCT thread FROM labels WHERE thread NOT IN (SELECT id FROM threads);

-- name: last_contents
-- Find the greatest key of a thread.
SELECT max(key) FROM contents WHERE key BETWEEN ? AND ?;

-- name: last_sequences
-- Find the greatest key of a thread.
SELECT max(key) FROM sequences WHERE key BETWEEN ? AND ?;

-- name: last_checkpoints
-- Find the greatest key of a thread.
SELECT max(key) FROM checkpoints WHERE key BETWEEN ? AND ?;

-- name: last_runs
-- Find the greatest key of a thread.
SELECT max(key) FROM runs WHERE key BETWEEN ? AND ?;

-- name: last_transcript
-- Find the greatest key of a thread.
SELECT max(key) FROM transcript WHERE key BETWEEN ? AND ?;

-- name: last_calls
-- Find the greatest key of a thread.
SELECT max(key) FROM calls WHERE key BETWEEN ? AND ?;

-- name: find_checkpoint_anywhere
-- Find a checkpoint of a thread by its id in every namespace.
SELECT key, hidden FROM checkpoints WHERE id = ? AND key BETWEEN ? AND ?;
