# The one entry for people and machines. `make` alone lists the targets.
#
# Programs and tests are built in one profile (release), so that no dependency is compiled twice: `make test`
# after `make demo` compiles only what is tested. `make lint` checks without generating code.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS   += --no-print-directory

CARGO       ?= cargo
# On an integration machine the lock file must be up to date.
LOCKED      := $(if $(CI),--locked)
WIRESPEED   ?= target/release/wirespeed
OUT         ?= wirespeed-out
# A kernel source of your own: a tarball or tree of Linux 6.12. Empty: the distribution's linux-source-6.12.
WIRESPEED_KERNEL_SOURCE ?=
export WIRESPEED_KERNEL_SOURCE
# A Python environment with flent and iperf3 for the tests of exports. `make setup` makes this one.
WIRESPEED_LOADERS ?= $(CURDIR)/target/python-venv
export WIRESPEED_LOADERS

.PHONY: help
help: ## list the targets
	@printf 'usage: make TARGET\n\n'
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  \1\t\2/' | expand -t 18
	@printf '\nvariables: OUT=FOLDER (now %s), PREFIX=FOLDER, WIRESPEED_KERNEL_SOURCE=TARBALL-OR-TREE of Linux 6.12\n' '$(OUT)'

.PHONY: setup
setup: ## install the missing packages for all of this (apt-get, and pip in target/); prints first which and why
	@tools/setup test

.PHONY: setup-build setup-kernel setup-lint
setup-build:
	@tools/setup build
setup-kernel:
	@tools/setup kernel
setup-lint:
	@tools/setup lint

.PHONY: build
build: ## compile the binary: target/release/wirespeed
	$(CARGO) build --release $(LOCKED)

# In a folder of its own: the program has the same name, and other dependencies have other features.
MODEL_ONLY  := -p wirespeed --no-default-features --features model

.PHONY: model
model: ## compile the binary with substrate model only, which needs Rust and no C library: target/model/release/wirespeed
	$(CARGO) build --release $(LOCKED) $(MODEL_ONLY) --target-dir target/model

# What `make install` puts there; figures of speed are this one's.
DIST        := target/dist/wirespeed
PREFIX      ?= $(HOME)/.local

.PHONY: dist
dist: ## compile the binary with link-time optimisation, 6 minutes: target/dist/wirespeed
	$(CARGO) build --profile dist $(LOCKED)

.PHONY: install
install: dist ## the same, with manual pages and completions, into PREFIX (now ~/.local)
	install -D -m 755 $(DIST) '$(DESTDIR)$(PREFIX)/bin/wirespeed'
	$(DIST) man '$(DESTDIR)$(PREFIX)/share/man/man1'
	@set -e; put() { mkdir -p "$$(dirname "$$2")"; $(DIST) completions "$$1" >"$$2"; }; share='$(DESTDIR)$(PREFIX)/share'; \
	put bash "$$share/bash-completion/completions/wirespeed"; \
	put zsh "$$share/zsh/site-functions/_wirespeed"; \
	put fish "$$share/fish/vendor_completions.d/wirespeed.fish"

.PHONY: kernel
kernel: setup-kernel build ## build the virtual-time kernel, unless it is in the cache; installs what that needs
	$(WIRESPEED) kernel build $(if $(WIRESPEED_KERNEL_SOURCE),--source '$(WIRESPEED_KERNEL_SOURCE)')

# On the model: no kernel, no root, and nothing installed that only the kernel or the tests need.
.PHONY: demo
demo: setup-build build ## the first result: compile, run a scenario on the model, print its table and where the report is
	$(WIRESPEED) run scenarios/first-look.toml --out '$(OUT)/first-look'

.PHONY: test
test: setup kernel demo fmt ## every test, also of the Python package, after setup, kernel and demo; lists skipped tests with the reason
	@mkdir -p target
	@tools/playground || [ $$? -eq 3 ] || exit 1
	@echo '$(CARGO) test --workspace --release'
	@set +e; $(CARGO) test --workspace --release $(LOCKED) --no-fail-fast 2>&1 | tee target/test.log; \
	code=$${PIPESTATUS[0]}; tools/python-tests '$(WIRESPEED)' 2>&1 | tee -a target/test.log; \
	python=$${PIPESTATUS[0]}; [ $$python -eq 0 ] || [ $$python -eq 3 ] || code=1; \
	tools/test-summary target/test.log || code=1; [ $$code -eq 0 ] || exit $$code
	@$(MAKE) test-debug

# The model's crates without optimisation and with their assertions, what they need as it is: nothing else is compiled twice.
UNOPTIMISED := $(foreach crate,sim congestion scenario units,$(foreach setting,opt-level=0 debug-assertions=true overflow-checks=true,\
	--config 'profile.release.package.wirespeed-$(crate).$(setting)'))

.PHONY: test-debug
test-debug: ## only that a debug build of the model gives the same bytes as a release build
	$(CARGO) test --release $(LOCKED) $(UNOPTIMISED) -p wirespeed-sim --test determinism a_short_fingerprint

# Snapshots are those of the library insta, which has a variable of its own.
.PHONY: bless
bless: ## write what the tests of a crate compare again, if a change was meant: CRATE=wirespeed-scenario
	@test -n '$(CRATE)' || { echo 'usage: make bless CRATE=NAME, for example CRATE=wirespeed-scenario' >&2; exit 2; }
	WIRESPEED_BLESS=1 INSTA_UPDATE=always $(CARGO) test --release $(LOCKED) -p '$(CRATE)'

.PHONY: guest
guest: ## get what tests in a QEMU guest need: QEMU (apt-get), Debian's kernel (unpacked in the cache); says so first
	@tools/guest/fetch

.PHONY: test-guest
test-guest: guest ## only the tests in the guest: receive rings of a real driver, netem, RPS, queues, loaded controls; 4 minutes
	$(CARGO) test --release $(LOCKED) -p wirespeed --test guest -- --show-output

.PHONY: test-python
test-python: build ## only the Python package: its tests, types and style, in target/python-venv (downloads from PyPI)
	tools/python-tests '$(WIRESPEED)'

.PHONY: playground
playground: ## the model in WebAssembly with its page, one file: target/playground/playground.html; prints what it downloads
	@tools/playground

.PHONY: fuzz
fuzz: ## every fuzz target for two minutes, with a nightly compiler: SECONDS_EACH=N, TARGETS='agent file'
	tools/fuzz --seconds '$(or $(SECONDS_EACH),120)' $(TARGETS)

.PHONY: fmt
fmt: ## check the formatting
	$(CARGO) fmt --all --check

.PHONY: prose
prose: setup-lint ## check the wording of pages, comments and messages; UPDATE=1 lowers the counts after an improvement
	@python3 tools/prose/test.py --quiet
	@python3 tools/prose $(if $(UPDATE),--update)

.PHONY: lint
lint: fmt prose ## formatting, wording, no recordings in the repository, clippy, documentation, licences and advisories
	@large=$$(git ls-files -z | xargs -0 du -k -- 2>/dev/null | awk '$$1 > 1024 { print $$2 }'); \
	    test -z "$$large" || { echo "over 1 MiB, a recording or a capture? $$large"; exit 1; }
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(CARGO) clippy $(MODEL_ONLY) -- -D warnings
	RUSTDOCFLAGS='-D warnings' $(CARGO) doc --workspace --no-deps
	@if command -v cargo-deny >/dev/null; then \
	    $(CARGO) deny --log-level error check licenses bans sources; \
	    $(CARGO) deny --log-level error --manifest-path fuzz/Cargo.toml --config deny.toml check licenses bans sources; \
	    $(CARGO) deny --log-level error check advisories || echo 'advisories: found, or NOT checked for want of their database (see above)'; \
	else echo 'cargo-deny is not installed; licences and advisories were NOT checked. To have them: cargo install --locked cargo-deny'; fi

.PHONY: bpf
bpf: ## compile the programs for the running kernel again: bpf/objects (needs clang and llvm)
	@tools/bpf

.PHONY: bench
bench: kernel bench-model ## speed of the virtual-time kernel and of the model, beside ns-3 and ns-2 where they are installed
	@command -v python3 >/dev/null || { echo 'make bench needs python3: apt-get install python3' >&2; exit 3; }
	python3 benches/kernel-speed.py --wirespeed '$(WIRESPEED)'

.PHONY: bench-model
bench-model: dist ## speed of the model alone: its targets beside ns-2, its memory, and how cost grows
	@command -v python3 >/dev/null || { echo 'make bench needs python3: apt-get install python3' >&2; exit 3; }
	python3 benches/model-speed.py --wirespeed $(DIST)

.PHONY: bench-live
bench-live: build ## traffic between two namespaces of this machine (as root): beside iperf3, and what observing costs
	@command -v python3 >/dev/null || { echo 'make bench-live needs python3: apt-get install python3' >&2; exit 3; }
	python3 benches/live-speed.py --wirespeed '$(WIRESPEED)'

.PHONY: bench-capture
bench-capture: ## speed of reading captures, beside cat, tcptrace and tshark where they are installed
	@command -v python3 >/dev/null || { echo 'make bench-capture needs python3: apt-get install python3' >&2; exit 3; }
	$(CARGO) build --profile dist -p wirespeed-capture --example capture_speed
	python3 benches/capture-speed.py --program "$${CARGO_TARGET_DIR:-target}/dist/examples/capture_speed"

# The kernel's side of the grid is committed; `wirespeed validate --on kernel --extend` made it and extends it.
.PHONY: validate
validate: kernel ## the kernel against its [expect] bounds and ledgers, the model against the kernel over the grid
	tools/validate '$(WIRESPEED)' '$(OUT)/validate'
	$(WIRESPEED) validate --scratch '$(OUT)/validation'

.PHONY: report-picture
report-picture: ## pictures of the demo's report for the documentation (needs Chromium)
	tools/report-picture '$(OUT)/first-look/report.html' docs/images
