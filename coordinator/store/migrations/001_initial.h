// Schema 1. Never edited once released: changes are new migrations.
//
// Rows per job of one task: job, job_spec, task, attempt, and a few of event. Tasks that were never placed have no row.
// Times are UTC milliseconds, 0: not yet. Uids are blobs of 16 bytes. Columns named *_pack are of pack.h, NULL: empty.
// The id of a task is job << 20 | index, that of an attempt is its task's << 10 | number: rows are found and appended by
// one integer, and those of a job lie together.
#pragma once

namespace gt {

constexpr char kMigration001[] = R"sql(
CREATE TABLE meta(
  id INTEGER PRIMARY KEY CHECK (id = 1),
  cluster_id TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  next_job INTEGER NOT NULL,
  next_node INTEGER NOT NULL,
  incarnation INTEGER NOT NULL,      -- rises when a backup is taken into use
  is_backup INTEGER NOT NULL         -- 1: this file is a copy that nobody has used yet
);

CREATE TABLE job(
  id INTEGER PRIMARY KEY,
  client_key TEXT NOT NULL,
  name TEXT NOT NULL,
  owner TEXT NOT NULL,
  nodes INTEGER NOT NULL, cpus INTEGER NOT NULL, memory INTEGER NOT NULL, gpus INTEGER NOT NULL,
  gpu_models_pack BLOB, gpu_memory INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  is_array INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
  ranks_per_node INTEGER NOT NULL,
  contract INTEGER NOT NULL,
  retry_user INTEGER NOT NULL, retry_infra INTEGER NOT NULL,
  grace INTEGER NOT NULL,
  stop_after INTEGER NOT NULL,
  submitted INTEGER NOT NULL,
  -- From here on they change.
  queued INTEGER NOT NULL, active INTEGER NOT NULL, succeeded INTEGER NOT NULL, failed INTEGER NOT NULL,
  cancelled INTEGER NOT NULL,
  next_index INTEGER NOT NULL,       -- tasks from here to last were never placed
  cancel_requested INTEGER NOT NULL,
  cancel_reason TEXT,
  started INTEGER NOT NULL, ended INTEGER NOT NULL,
  max_attempt INTEGER NOT NULL,
  cause INTEGER NOT NULL, message TEXT, exit_code INTEGER NOT NULL,
  final_state INTEGER                -- TaskState; NULL while it lives
);
CREATE UNIQUE INDEX job_key ON job(client_key) WHERE client_key <> '';
CREATE INDEX job_owner ON job(owner, id);
CREATE INDEX job_live ON job(id) WHERE final_state IS NULL;
CREATE INDEX job_final ON job(final_state, id) WHERE final_state IS NOT NULL;

-- Apart, so that a change of a counter does not write it again.
CREATE TABLE job_spec(job INTEGER PRIMARY KEY, spec BLOB NOT NULL);

CREATE TABLE task(
  id INTEGER PRIMARY KEY,
  state INTEGER NOT NULL,            -- TaskState
  attempts INTEGER NOT NULL,
  user_failures INTEGER NOT NULL, infra_failures_pack BLOB,
  avoid INTEGER NOT NULL,
  not_before INTEGER NOT NULL,
  checkpoint TEXT, checkpoint_step INTEGER NOT NULL,
  cause INTEGER NOT NULL, message TEXT
);
CREATE INDEX task_waiting ON task(id) WHERE state = 0;

CREATE TABLE attempt(
  id INTEGER PRIMARY KEY,
  uid BLOB NOT NULL,
  phase INTEGER NOT NULL,            -- AttemptPhase
  live INTEGER NOT NULL,             -- 1: not ENDED, or some member is not gone
  cpus INTEGER NOT NULL, memory INTEGER NOT NULL,
  rendezvous INTEGER NOT NULL, generation INTEGER NOT NULL, addr TEXT, port INTEGER NOT NULL,
  placed INTEGER NOT NULL, running INTEGER NOT NULL, ended INTEGER NOT NULL,
  stop_cause INTEGER NOT NULL, stop_grace INTEGER NOT NULL,
  cause INTEGER NOT NULL, message TEXT, charged INTEGER NOT NULL, exit_code INTEGER NOT NULL,
  resume_from TEXT, resume_step INTEGER NOT NULL,
  progress_pack BLOB,                -- once it has ended
  members INTEGER NOT NULL,          -- more than one: rows of `member`; one: the columns below
  node INTEGER, member_phase INTEGER, gpu_uuids_pack BLOB, gone INTEGER, lost INTEGER, exit_record BLOB
);
CREATE INDEX attempt_live ON attempt(id) WHERE live = 1;

CREATE TABLE member(
  attempt INTEGER NOT NULL, group_rank INTEGER NOT NULL,
  node INTEGER NOT NULL, phase INTEGER NOT NULL, gpu_uuids_pack BLOB,
  gone INTEGER NOT NULL, lost INTEGER NOT NULL, exit_record BLOB,
  PRIMARY KEY (attempt, group_rank)
) WITHOUT ROWID;

-- The first failure of an attempt; most have none.
CREATE TABLE failure(
  attempt INTEGER PRIMARY KEY,
  cause INTEGER NOT NULL, rank INTEGER NOT NULL, node INTEGER NOT NULL, node_name TEXT,
  code INTEGER NOT NULL, signal INTEGER NOT NULL, message TEXT, tail BLOB
);

CREATE TABLE node(
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  uid BLOB NOT NULL,
  boot_id TEXT NOT NULL, version TEXT NOT NULL,
  state INTEGER NOT NULL,            -- NodeState
  draining INTEGER NOT NULL, drain_reason TEXT, drain_actor TEXT,
  inventory_pack BLOB NOT NULL
);

-- What happened, for people. No code decides by it. One row holds all lines of a job that were committed together.
CREATE TABLE event(
  seq INTEGER PRIMARY KEY,           -- of the last line in it; lines are numbered without gaps
  at INTEGER NOT NULL,
  job INTEGER,                       -- NULL: about none
  lines_pack BLOB NOT NULL
);
CREATE INDEX event_job ON event(job) WHERE job IS NOT NULL;
CREATE INDEX event_cluster ON event(at) WHERE job IS NULL;
)sql";

}  // namespace gt
