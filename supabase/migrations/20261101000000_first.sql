-- Made from the migrations of datasmith.storage by `make migrations`: change those, not this file.

CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL, 
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);

-- Running upgrade  -> 0001

CREATE TABLE build_attempts (
    id SERIAL NOT NULL, 
    owner TEXT, 
    repo TEXT, 
    sha TEXT, 
    issue_number INTEGER, 
    attempt INTEGER, 
    engine TEXT, 
    strategy TEXT, 
    stage TEXT, 
    ok BOOLEAN, 
    rc INTEGER, 
    reason TEXT, 
    stdout TEXT, 
    stderr TEXT, 
    duration_s FLOAT, 
    context_hash TEXT, 
    context JSON, 
    created_at TIMESTAMP WITH TIME ZONE, 
    PRIMARY KEY (id)
);

CREATE INDEX build_attempts_by_commit ON build_attempts (owner, repo, sha);

CREATE TABLE candidate_containers (
    owner TEXT COLLATE "C" NOT NULL, 
    repo TEXT COLLATE "C" NOT NULL, 
    sha TEXT COLLATE "C" NOT NULL, 
    issue_number INTEGER, 
    engine TEXT, 
    image_name TEXT, 
    image_digest TEXT, 
    context_hash TEXT, 
    context JSON, 
    verification JSON, 
    sealed BOOLEAN, 
    created_at TIMESTAMP WITH TIME ZONE, 
    PRIMARY KEY (owner, repo, sha)
);

CREATE TABLE certificates (
    task_id TEXT COLLATE "C" NOT NULL, 
    image_digest TEXT COLLATE "C" NOT NULL, 
    machine TEXT COLLATE "C" NOT NULL, 
    issued_at TIMESTAMP WITH TIME ZONE NOT NULL, 
    status TEXT, 
    reason TEXT, 
    certificate JSON, 
    PRIMARY KEY (task_id, image_digest, machine, issued_at), 
    CONSTRAINT certificates_status CHECK (status IN ('valid', 'fragile', 'withdrawn', 'refused'))
);

CREATE TABLE hook_cache (
    entity_key TEXT COLLATE "C" NOT NULL, 
    hook_name TEXT COLLATE "C" NOT NULL, 
    args_hash TEXT COLLATE "C" NOT NULL, 
    value JSON, 
    created_at TIMESTAMP WITH TIME ZONE, 
    PRIMARY KEY (entity_key, hook_name, args_hash)
);

CREATE TABLE packages (
    owner TEXT COLLATE "C" NOT NULL, 
    repo TEXT COLLATE "C" NOT NULL, 
    sha TEXT COLLATE "C" NOT NULL, 
    python_version TEXT, 
    strategy TEXT, 
    cutoff TIMESTAMP WITH TIME ZONE, 
    pins JSON, 
    resolution JSON, 
    log TEXT, 
    created_at TIMESTAMP WITH TIME ZONE, 
    PRIMARY KEY (owner, repo, sha)
);

CREATE TABLE pr_contexts (
    owner TEXT COLLATE "C" NOT NULL, 
    repo TEXT COLLATE "C" NOT NULL, 
    issue_number INTEGER NOT NULL, 
    links JSON, 
    context JSON, 
    final_md TEXT, 
    created_at TIMESTAMP WITH TIME ZONE, 
    PRIMARY KEY (owner, repo, issue_number)
);

CREATE TABLE pull_requests (
    owner TEXT COLLATE "C" NOT NULL, 
    repo TEXT COLLATE "C" NOT NULL, 
    issue_number INTEGER NOT NULL, 
    title TEXT, 
    body TEXT, 
    author TEXT, 
    labels JSON, 
    created_at TIMESTAMP WITH TIME ZONE, 
    merged_at TIMESTAMP WITH TIME ZONE, 
    base_sha TEXT, 
    merge_commit_sha TEXT, 
    patch TEXT, 
    files JSON, 
    is_performance_commit BOOLEAN, 
    classification TEXT, 
    difficulty TEXT, 
    reason TEXT, 
    confidence FLOAT, 
    classified_by TEXT, 
    resolution JSON, 
    task_id TEXT, 
    container_name TEXT, 
    image_name TEXT, 
    image_digest TEXT, 
    final_md TEXT, 
    certificate_status TEXT, 
    dataset TEXT, 
    published_at TIMESTAMP WITH TIME ZONE, 
    updated_at TIMESTAMP WITH TIME ZONE, 
    PRIMARY KEY (owner, repo, issue_number)
);

CREATE TABLE repositories (
    owner TEXT COLLATE "C" NOT NULL, 
    repo TEXT COLLATE "C" NOT NULL, 
    stars INTEGER, 
    description TEXT, 
    language TEXT, 
    topics JSON, 
    licence TEXT, 
    asv_config TEXT, 
    head_sha TEXT, 
    updated_at TIMESTAMP WITH TIME ZONE, 
    PRIMARY KEY (owner, repo)
);

CREATE TABLE runner_failures (
    id SERIAL NOT NULL, 
    runner_id TEXT, 
    "window" TEXT, 
    stage INTEGER, 
    item TEXT, 
    reason TEXT, 
    traceback TEXT, 
    failed_at TIMESTAMP WITH TIME ZONE, 
    PRIMARY KEY (id)
);

CREATE INDEX runner_failures_by_item ON runner_failures ("window", stage, item);

CREATE TABLE runner_progress (
    runner_id TEXT COLLATE "C" NOT NULL, 
    name TEXT, 
    "window" TEXT, 
    stage INTEGER, 
    worker TEXT, 
    total INTEGER, 
    completed INTEGER, 
    passed INTEGER, 
    refused INTEGER, 
    failed INTEGER, 
    state TEXT, 
    started_at TIMESTAMP WITH TIME ZONE, 
    updated_at TIMESTAMP WITH TIME ZONE, 
    PRIMARY KEY (runner_id), 
    CONSTRAINT runner_progress_state CHECK (state IN ('running', 'finished', 'stopped'))
);

CREATE TABLE stage_items (
    "window" TEXT COLLATE "C" NOT NULL, 
    stage INTEGER NOT NULL, 
    item TEXT COLLATE "C" NOT NULL, 
    kind TEXT NOT NULL, 
    state TEXT NOT NULL, 
    reason TEXT NOT NULL, 
    attempts INTEGER NOT NULL, 
    fence INTEGER NOT NULL, 
    worker TEXT, 
    lease_until TIMESTAMP WITH TIME ZONE, 
    updated_at TIMESTAMP WITH TIME ZONE NOT NULL, 
    PRIMARY KEY ("window", stage, item), 
    CONSTRAINT stage_items_lease CHECK ((state = 'leased') = (lease_until IS NOT NULL)), 
    CONSTRAINT stage_items_kind CHECK (kind IN ('repository', 'pull_request')), 
    CONSTRAINT stage_items_state CHECK (state IN ('pending', 'leased', 'passed', 'refused', 'failed')), 
    CONSTRAINT stage_items_has_reason CHECK (state NOT IN ('refused', 'failed') OR reason <> ''), 
    CONSTRAINT stage_items_stage CHECK (stage BETWEEN 1 AND 6)
);

CREATE INDEX stage_items_by_state ON stage_items ("window", stage, state, item);

INSERT INTO alembic_version (version_num) VALUES ('0001') RETURNING alembic_version.version_num;
