# make install   the virtual environment, as uv.lock says (and the system packages that are missing)
# make check     style, types, floors, house rules, documentation that matches the code
# make style     the same without what pytest checks: `make test` does that, too
# make test      all tests; a Docker engine is started where none answers and we are root
# make demo      the whole way on the sample library: history, tasks, trials, report
# make ci        what runs before a change lands
# make docs      the documentation as pages in site/
# make migrations  supabase/migrations, from the migrations of the store
# make lock      choose the newest permitted versions of everything again
.PHONY: install check style test demo ci docs migrations lock

RUN = .venv/bin/

install:
	scripts/install-system.sh test
	scripts/install.sh
	scripts/install-supabase.sh
	scripts/install-agents.sh
	scripts/install-harnesses.sh

# Where the tools of the targets below are missing ("make demo" installs no pytest), they are installed first.
$(RUN)pytest:
	$(MAKE) install

check: style
	$(RUN)python -m pytest tests/house

style: $(RUN)pytest
	$(RUN)ruff check
	$(RUN)ruff format --check
	$(RUN)mypy
	$(RUN)lint-imports --no-logo
	$(RUN)vulture src --exclude "*/base.py,*/engine.py" --ignore-names trace,error,kind,force_build
	$(RUN)shellcheck scripts/*.sh examples/*.sh examples/*/*.sh .ci/run $$(find src -name '*.sh')

test: $(RUN)pytest
	TMPDIR=$$(scripts/test-place.sh) scripts/with-docker.sh $(RUN)python scripts/run_tests.py

demo:
	scripts/install-system.sh demo
	test -x .venv/bin/fc-eval || scripts/install.sh --no-dev
	examples/demo.sh

ci:
	bash .ci/run

docs: $(RUN)pytest
	$(RUN)python scripts/reference.py
	$(RUN)uv tool run zensical@0.0.73 build

migrations:
	$(RUN)python scripts/migrations.py

lock:
	$(RUN)uv lock --upgrade
