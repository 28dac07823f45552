"""What ships into builds and sandboxes as files: scripts, Dockerfiles, and programs of the standard library alone."""
