# Every target does its own set-up on a Debian 12 machine that has a Swift toolchain.

PREFIX ?= /usr/local
# Where zsh looks below PREFIX/share/zsh: packages have a folder of their own.
ZSH_FOLDER ?= site-functions
# Options of `ferry serve` for `make run`, for example ARGS="--port 9000".
ARGS ?=
# Further options of the release build. The Swift runtime is linked in, and what is small stays small: functions of the
# same code are kept once, and relocations are packed, which glibc can read since 2.36 (Debian 12). Exclusive access
# (https://www.swift.org/blog/swift-5-exclusivity/) is checked at run time by debug builds, and so by every test; here it
# would take 4 % of the processor time of a small task. So is, of closures that go through functions which know nothing of
# isolation, that they are called on the loop; the doors from C check it always (LoopActor).
RELEASE_FLAGS ?= --static-swift-stdlib -Xswiftc -enforce-exclusivity=unchecked \
    -Xswiftc -Xfrontend -Xswiftc -disable-dynamic-actor-isolation -Xswiftc -use-ld=lld -Xlinker --icf=all \
    -Xlinker -O2 -Xlinker -z -Xlinker pack-relative-relocs
# What goes with them, for example EXTRA_FLAGS="-Xlinker -s" for a program without symbols.
EXTRA_FLAGS ?=
# What `ferry --version` says beside the version; empty where git knows nothing, and then it says "unknown".
FERRY_COMMIT ?= $(shell git describe --always --abbrev=12 --exclude='*' --dirty 2>/dev/null)
# Of a debug build. The index, from which SwiftPM knows the tests, takes less time without the system's modules. A plain
# `swift build` or `swift test` has other options, and so builds everything anew.
DEBUG_FLAGS ?= -Xswiftc -index-ignore-system-modules
# Rows of the benchmark, for example ROWS=get,events, and its options, for example BENCH=--quick.
ROWS ?=
BENCH ?=
# Seconds for each target of `make fuzz`, and which, for example FUZZ="600 http1 json".
FUZZ ?= 60

SWIFT ?= $(or $(shell command -v swift 2>/dev/null),$(wildcard /opt/swift/usr/bin/swift))
RELEASE := .build/release/ferry
DEBUG := .build/debug/ferry
SOURCES := Package.swift Sources Tests

.PHONY: help run build build-tests test test-cluster fuzz bench man completions format reference lint install package package-test clean toolchain
.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

run: build ## install what is missing, build, serve on 127.0.0.1:8080 (ARGS="--port 9000")
	@echo "In another terminal, in this folder: $(RELEASE) get https://www.rfc-editor.org/rfc/rfc9110.txt"
	@echo "For plain 'ferry': export PATH=\"$(CURDIR)/.build/release:\$$PATH\", or make install"
	@exec $(RELEASE) serve $(ARGS)

build: toolchain ## the release build: .build/release/ferry
	@.ci/setup build
	FERRY_COMMIT="$(FERRY_COMMIT)" $(SWIFT) build --configuration release --product ferry $(RELEASE_FLAGS) $(EXTRA_FLAGS)

build-tests: toolchain
	@.ci/setup test
	$(SWIFT) build --build-tests $(DEBUG_FLAGS)

test: build-tests ## all tests, the contract checks, real servers against a live gateway, the page in a browser
	# Two at a time, since half of what they do is waiting. What holds up the loop, or blocks threads by
	# waiting for processes, has a process of its own; so has what must not be late.
	@SWIFT="$(SWIFT)" Tests/side-by-side \
		"Tests/suite --filter '^GatewayTests\.' --skip '\.ShownChange'" \
		"Tests/suite --skip '^(HTTP|TLS|Curl|Engine|Client|Gateway)Tests\.' \
		&& Tests/suite --filter '^EngineTests\.' && Tests/suite --filter '^ClientTests\.' \
		&& Tests/suite --filter '^GatewayTests\.ShownChange' && Tests/suite --filter '^CurlTests\.'"
	@SWIFT="$(SWIFT)" Tests/suite --filter '^(HTTP|TLS)Tests\.'
	# These wait more than they compute, and each has servers of its own. The page's tests run alone: their
	# browsers are late on a busy machine.
	@Tests/side-by-side "Tests/servers/run $(DEBUG) --numprocesses 4 --dist worksteal" \
		"Tests/contract/run $(DEBUG)"
	@Tests/page/run $(DEBUG)

test-cluster: toolchain ## the tests of several nodes alone, on PostgreSQL, with real servers
	@.ci/setup test
	$(SWIFT) build --product ferry $(DEBUG_FLAGS)
	@Tests/servers/run $(DEBUG) -k nodes

fuzz: toolchain ## feed what reads bytes of strangers with inputs that libFuzzer makes up (FUZZ="600 http1")
	@.ci/setup build
	@SWIFT="$(SWIFT)" Tests/Fuzz/run $(FUZZ)

bench: build ## measure against aria2, curl, nginx and nchan (ROWS=get,events BENCH=--quick)
	@.ci/setup bench
	PYTHONPATH=Tests PYTHONDONTWRITEBYTECODE=1 \
		python3 -m benchmark --ferry $(RELEASE) --rows "$(ROWS)" $(BENCH)

format: toolchain ## bring the sources into the project's format
	$(SWIFT) format format --in-place --parallel --recursive $(SOURCES)

reference: ## write docs/events.md and docs/errors.md anew from openapi.yaml
	@test -x .build/python/bin/python || { echo "First: make test, which sets Python up." >&2; exit 69; }
	.build/python/bin/python Tests/contract/reference.py

lint: toolchain ## check the format and the rules of .swift-format
	$(SWIFT) format lint --strict --parallel --recursive $(SOURCES)
	# The formatter leaves comments as they are; URLs cannot be broken.
	@export LC_ALL=C.UTF-8; ! grep -rnE --include='*.swift' '^ *//' $(SOURCES) \
		| grep -vF https:// | grep -E '^[^:]+:[0-9]+:.{101,}' \
		|| { echo "These comments are longer than 100 columns." >&2; exit 1; }

install: man completions ## copy program, manual pages and completions to PREFIX (/usr/local)
	install -D -m 755 $(RELEASE) "$(DESTDIR)$(PREFIX)/bin/ferry"
	install -D -m 644 -t "$(DESTDIR)$(PREFIX)/share/man/man1" .build/man/man1/*.1
	install -D -m 644 .build/completions/ferry.bash \
		"$(DESTDIR)$(PREFIX)/share/bash-completion/completions/ferry"
	install -D -m 644 .build/completions/_ferry \
		"$(DESTDIR)$(PREFIX)/share/zsh/$(ZSH_FOLDER)/_ferry"
	install -D -m 644 .build/completions/ferry.fish \
		"$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/ferry.fish"

man: build ## manual pages of the release build: .build/man/man1/ferry*.1
	@.ci/setup install
	@rm -rf .build/man && .ci/manual $(RELEASE) .build/man/man1

completions: build ## what shells complete: .build/completions/ferry.bash, _ferry, ferry.fish
	@mkdir -p .build/completions
	@$(RELEASE) completions bash >.build/completions/ferry.bash
	@$(RELEASE) completions zsh >.build/completions/_ferry
	@$(RELEASE) completions fish >.build/completions/ferry.fish

package: toolchain ## a Debian package of the release build, for apt install
	@.ci/setup package
	@packaging/build

package-test: package ## install, use and remove it on a bare Debian 12 (as root)
	@.ci/setup package-test
	@packaging/test

clean: ## remove all that was built
	rm -rf .build .build-fuzz

toolchain:
	@test -n "$(SWIFT)" || { \
		echo "No 'swift' on PATH. Install Swift 6.3 from https://swift.org/install" >&2; exit 69; }
