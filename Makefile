# SPDX-License-Identifier: GPL-3.0-or-later
# ridge: wildcards are the lists.  `make` builds, `make demo` and `make test` install what is missing first.

VERSION  = 0.1.0
PREFIX   ?= /usr/local
BUILD    ?= build
CC       ?= cc
V        ?= 0
PKGS      = gsl yaml-0.1 libcjson

MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:

Q := $(if $(filter 1,$(V)),,@)

PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
PKG_LIBS   := $(shell pkg-config --libs $(PKGS) 2>/dev/null)

WARN    = -Wall -Wextra -Wshadow -Wpedantic -Wconversion -Wstrict-prototypes -Wmissing-prototypes
WERROR ?= $(if $(CI),-Werror,)
# Link-time optimisation was measured: the same speed, a larger program, eight times the build time.
# Nothing unwinds a stack at run time, and a debugger finds the tables with the symbols: 0.2 MB that strip removes.
OPT    ?= -O2 -g1 -fno-asynchronous-unwind-tables

# Hardening; tests/law/hardened.sh looks for it in what was built.  FORTIFY needs optimised code without sanitizers, and
# yields to a compiler or CFLAGS that set it.  CET: start files of some C libraries (Debian 12) carry no note, and the
# linker drops it for the whole program then, unless it is told.
comma    := ,
TARGET   := $(shell $(CC) -dumpmachine 2>/dev/null)
OPTIMISED = $(filter-out -O0,$(lastword $(filter -O%,$(OPT) $(CFLAGS))))
FORTIFY   = $(if $(findstring -fsanitize,$(OPT) $(CFLAGS))$(findstring _FORTIFY_SOURCE,$(CFLAGS))$(FORTIFIED),,$(if $(OPTIMISED),-D_FORTIFY_SOURCE=2))
FORTIFIED := $(filter-out _FORTIFY_SOURCE,$(shell echo _FORTIFY_SOURCE | $(CC) -O2 -E -P -x c - 2>/dev/null))
CET       = $(filter x86_64-% i686-%,$(TARGET))
HARDEN   ?= -fstack-protector-strong $(if $(CET),-fcf-protection) $(FORTIFY)
ifeq ($(findstring darwin,$(TARGET)),)
HARDEN_LINK ?= -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack $(if $(CET),-Wl$(comma)-z$(comma)ibt -Wl$(comma)-z$(comma)shstk)
PIE ?= -pie
# 0.4 MB of tables point into the program itself: packed to a few kB, where linker and loader know how (glibc 2.36).
RELR ?= $(shell t=$$(mktemp) && echo 'static int x; int *const p = &x; int main(void) { return *p; }' | \
	$(CC) -fPIE -pie -Wl,-z,pack-relative-relocs -x c -o $$t - 2>/dev/null && $$t && echo -Wl,-z,pack-relative-relocs; rm -f $$t)
RELR := $(RELR)
endif

ALL_CFLAGS = -std=c11 -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE -ffp-contract=off -fPIC $(OPT) $(HARDEN) $(WARN) $(WERROR) \
	-Iinclude -Isrc -I$(BUILD)/gen $(PKG_CFLAGS) $(CFLAGS)
LINK   = $(CC) $(OPT) -pthread $(HARDEN_LINK) $(LDFLAGS)

# The library is all of src but the program's main and the benchmarks; the program is a client of it.
LIB_SRC  := $(wildcard $(addsuffix /*.c,src/base src/db src/import src/model/* src/search/* src/report \
	src/ask src/ask/* src/cli src/cmd))
LIB_OBJ  := $(LIB_SRC:src/%.c=$(BUILD)/obj/%.o)
HEADERS  := $(wildcard include/ridge/*.h)
COMMANDS ?= $(sort $(shell sed -n 's/^const struct command \(.*\)_command = .*/\1/p' src/cmd/*.c))
DATA     := $(wildcard hwdb/*/*.yaml workloads/*/*.yaml)
GENERATED := $(addprefix $(BUILD)/gen/,commands.h aliases.inc paths.h)
MAN_SRC  := $(wildcard man/*.[1357])
SCHEMA   := $(BUILD)/man/ridge.schema.json
MAN      := $(MAN_SRC:man/%=$(BUILD)/man/%) $(SCHEMA)

.PHONY: all demo test check quick check-long check-asan lint format dist install uninstall speed bench-speed clean deps
all: $(BUILD)/ridge $(BUILD)/libridge.a $(BUILD)/libridge.so $(BUILD)/ridge.pc $(BUILD)/ridge-bench man

# --- generated ---------------------------------------------------------------------------------------------------------

# Rewritten only when the list changes, so that nothing else is rebuilt.
define keep
@mkdir -p $(dir $@)
@cmp -s $@.new $@ || mv $@.new $@
@rm -f $@.new
endef

$(BUILD)/gen/commands.h: FORCE
	@mkdir -p $(dir $@)
	@for c in $(COMMANDS); do echo "COMMAND($$c)"; done | sed '/^COMMAND/!d' >$@.new
	$(keep)

# One row per alias; what a file says in `aliases:` is only repeated here as a hint, and checked when it is used.
$(BUILD)/gen/aliases.inc: $(DATA) src/tools/aliases.sh
	@mkdir -p $(dir $@)
	@sh src/tools/aliases.sh $(sort $(DATA)) >$@.new
	$(keep)

# Where the installed program finds its data and manual.
$(BUILD)/gen/paths.h: FORCE
	@mkdir -p $(dir $@)
	@printf '#define RIDGE_VERSION "%s"\n#define RIDGE_DATA_DIRECTORY "%s/share/ridge"\n#define RIDGE_MAN_DIRECTORY "%s/share/man"\n' \
		'$(VERSION)' '$(PREFIX)' '$(PREFIX)' >$@.new
	$(keep)

FORCE:

# --- compiled ----------------------------------------------------------------------------------------------------------

$(BUILD)/obj/%.o: src/%.c | $(GENERATED)
	@mkdir -p $(dir $@)
	@$(if $(Q),echo "  CC      $<")
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

# Appended, not replaced: files of different folders may have one name.
$(BUILD)/libridge.a: $(LIB_OBJ)
	@$(if $(Q),echo "  AR      $@")
	$(Q)rm -f $@ && ar qcs $@ $^

# The shared library shows what the public headers declare, and nothing else.
$(BUILD)/gen/exports.map: $(HEADERS)
	@mkdir -p $(dir $@)
	@{ echo '{ global:'; grep -ohE '\bridge_[a-z_]+\(' $(HEADERS) | tr -d '(' | sort -u | sed 's/$$/;/'; echo 'local: *; };'; } >$@

$(BUILD)/libridge.so: $(LIB_OBJ) $(BUILD)/gen/exports.map
	@$(if $(Q),echo "  LD      $@")
	$(Q)$(LINK) -shared -Wl,-soname,libridge.so.0 -Wl,--version-script=$(BUILD)/gen/exports.map -o $@ $(LIB_OBJ) $(PKG_LIBS) -lm

$(BUILD)/ridge: $(BUILD)/obj/main.o $(BUILD)/libridge.a
	@$(if $(Q),echo "  LD      $@")
	$(Q)$(LINK) $(PIE) $(RELR) -Wl,--as-needed -o $@ $^ $(PKG_LIBS) -lm

$(BUILD)/ridge.pc: ridge.pc.in Makefile
	@mkdir -p $(dir $@)
	@sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' -e 's|@PKGS@|$(PKGS)|' $< >$@

-include $(LIB_OBJ:.o=.d) $(BUILD)/obj/main.d

# --- manual ------------------------------------------------------------------------------------------------------------

# The option and example lists are spliced into the hand-written pages from the program's own tables.
.PHONY: man
man: $(MAN)

$(BUILD)/man/%: man/% $(BUILD)/ridge man/splice.sh
	@mkdir -p $(dir $@)
	$(Q)sh man/splice.sh $(BUILD)/ridge $< >$@

$(BUILD)/man/ridge-accuracy.7: man/accuracy.sh src/ask/validate/cross.def src/ask/serve/support.def $(wildcard tests/corpus/*.csv)
$(BUILD)/man/libridge.3: tests/example/example.c
$(BUILD)/man/ridge-glossary.7: man/glossary.sh man/answers.sh src/base/answers.def

$(SCHEMA): man/ridge.schema.json man/schema.sh man/answers.sh src/base/answers.def
	@mkdir -p $(dir $@)
	$(Q)sh man/schema.sh $< <src/base/answers.def >$@

$(BUILD)/man/ridge-hwdb.5: src/model/hw/calibration.def
$(BUILD)/man/ridge-comm.1: src/model/collective/algorithm.def
$(BUILD)/man/ridge-measurement.5: man/columns.sh src/model/hw/measurement.def

# Made from the claims that the tests check.
$(BUILD)/man/ridge-documents.7: man/documents.sh man/documents.tsv $(wildcard tests/claims/*.tsv)

$(BUILD)/man/ridge-models.7: man/ridge-models.7 $(BUILD)/tests/law
	@mkdir -p $(dir $@)
	$(Q)sed -e '/^\.\\" MODELS/,$$d' $< >$@ && $(BUILD)/tests/law --manual >>$@ && sed -e '1,/^\.\\" MODELS/d' $< >>$@

# --- tests -------------------------------------------------------------------------------------------------------------

UNIT_SRC := $(sort $(wildcard tests/unit/test_*.c))
UNIT_OBJ := $(UNIT_SRC:tests/%.c=$(BUILD)/obj/tests/%.o)
CHECK    := $(shell pkg-config --cflags check 2>/dev/null)
CHECK_LIBS = $(shell pkg-config --libs check 2>/dev/null)
# Tests look inside the program: they link the objects, not the installed library.
TEST_OBJ := $(LIB_OBJ)

$(BUILD)/gen/suites.h: FORCE
	@mkdir -p $(dir $@)
	@for s in $(patsubst tests/unit/test_%.c,%,$(UNIT_SRC)); do echo "SUITE($$s)"; done >$@.new
	$(keep)

$(BUILD)/obj/tests/%.o: tests/%.c | $(BUILD)/gen/suites.h $(GENERATED)
	@mkdir -p $(dir $@)
	@$(if $(Q),echo "  CC      $<")
	$(Q)$(CC) $(ALL_CFLAGS) -Itests $(CHECK) -MMD -MP -c $< -o $@

$(BUILD)/tests/unit-tests: $(UNIT_OBJ) $(BUILD)/obj/tests/unit/main.o $(TEST_OBJ) | $(SCHEMA)
	@mkdir -p $(dir $@)
	@$(if $(Q),echo "  LD      $@")
	$(Q)$(LINK) -o $@ $^ $(PKG_LIBS) $(CHECK_LIBS) -lm

$(BUILD)/tests/claims: $(BUILD)/obj/tests/claims/main.o $(TEST_OBJ)
	@mkdir -p $(dir $@)
	@$(if $(Q),echo "  LD      $@")
	$(Q)$(LINK) -o $@ $^ $(PKG_LIBS) -lm

$(BUILD)/tests/law: $(patsubst tests/%.c,$(BUILD)/obj/tests/%.o,$(wildcard tests/law/*.c)) $(TEST_OBJ)
	@mkdir -p $(dir $@)
	@$(if $(Q),echo "  LD      $@")
	$(Q)$(LINK) -o $@ $^ $(PKG_LIBS) -lm

# What the shell tests need and a bare machine lacks.
$(BUILD)/tests/json: tests/tools/json.c
	@mkdir -p $(dir $@)
	@$(if $(Q),echo "  CC      $<")
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) $< $(PKG_LIBS) -o $@

# The library as a user has it: installed headers, the archive, pkg-config.
$(BUILD)/tests/example: tests/example/example.c $(BUILD)/libridge.a $(HEADERS)
	@mkdir -p $(dir $@)
	@$(if $(Q),echo "  CC      $<")
	$(Q)$(CC) -std=c11 $(WARN) -Iinclude $(LDFLAGS) $(OPT) $< $(BUILD)/libridge.a $(PKG_LIBS) -lm -o $@

-include $(UNIT_OBJ:.o=.d) $(BUILD)/obj/tests/claims/main.d $(BUILD)/obj/tests/unit/main.d $(wildcard $(BUILD)/obj/tests/law/*.d)

include tests/fuzz/fuzz.mk
include src/bench/bench.mk

# As many jobs as processors, where make was not told how many.
PARALLEL = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2))

test: deps-test
	@$(MAKE) --no-print-directory $(PARALLEL) check

check: all $(BUILD)/refit $(REPLAYS) $(BUILD)/tests/examples $(BUILD)/tests/unit-tests $(BUILD)/tests/claims $(BUILD)/tests/law $(BUILD)/tests/example $(BUILD)/tests/json
	@BUILD=$(BUILD) sh tests/run.sh

# What tells most in half a minute: unit tests, laws of the models on a few inputs, some random questions.
quick: $(BUILD)/ridge $(BUILD)/tests/unit-tests $(BUILD)/tests/law
	@BUILD=$(BUILD) sh tests/run.sh --quick

# Five times the random questions; every value of every option in every example, of slow commands too; and intervals of
# the other halves.
check-long: $(BUILD)/ridge $(BUILD)/tests/law $(BUILD)/tests/unit-tests
	@BUILD=$(BUILD) QUESTIONS=30000 sh tests/run.sh "random questions"
	@BUILD=$(BUILD) EVERY=1 CK_RUN_SUITE=reads sh tests/run.sh "unit tests"
	@BUILD=$(BUILD) HALVES="-7 -8 -9 -10 -11" sh tests/run.sh coverage

# The same tests under the address, undefined-behaviour and leak sanitizers, in a build of their own.
check-asan:
	@QUESTIONS=$${QUESTIONS:-2000} $(MAKE) --no-print-directory $(PARALLEL) BUILD=$(BUILD)-asan OPT="-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer" check

# --- checks of the source ----------------------------------------------------------------------------------------------

C_FILES := $(wildcard src/*.c src/*/*.c src/*/*.h src/*/*.cu src/*/*/*.c src/*/*/*.h include/ridge/*.h tests/*/*.c tests/*/*.h)

lint: all
	@sh tests/lint.sh $(BUILD)

format:
	clang-format -i $(C_FILES)

# --- speed -------------------------------------------------------------------------------------------------------------

SPEED := $(patsubst tests/speed/%.c,$(BUILD)/bench-%,$(wildcard tests/speed/*.c))

$(BUILD)/bench-%: tests/speed/%.c $(BUILD)/libridge.a
	@$(if $(Q),echo "  CC      $<")
	$(Q)$(CC) -O2 -g1 -std=c11 -D_GNU_SOURCE -Iinclude -Isrc $(PKG_CFLAGS) -o $@ $< $(BUILD)/libridge.a $(PKG_LIBS) -lm -pthread

# Instructions against budgets; and the rates of this machine.
speed: $(BUILD)/ridge $(SPEED)
	@RIDGE_HWDB=$(CURDIR) sh tests/speed/budgets.sh $(BUILD)/ridge $(BUILD)

bench-speed: $(SPEED)
	@for b in $(SPEED); do $$b || exit; done

# --- calibrations ------------------------------------------------------------------------------------------------------

# hwdb/calibration again, from a folder with the public kernel measurements that its files name as their source.
SILICON ?= ../shared/silicon
.PHONY: calibrations
calibrations: $(BUILD)/ridge
	@RIDGE_HWDB=$(CURDIR) sh src/tools/calibrations.sh $(BUILD)/ridge $(SILICON) $(PART)

# The constants of stacks and fabrics that were fitted to published runs, again, and their errors on runs that were left
# out: `make refit`, `make refit ROWS=DIR ARGS="train --leave-out gpu"`.
ROWS ?= tests/corpus
REFIT_OBJ := $(patsubst src/%.c,$(BUILD)/obj/%.o,$(wildcard src/tools/refit/*.c))
$(BUILD)/refit: $(REFIT_OBJ) $(BUILD)/libridge.a
	@$(if $(Q),echo "  LD      $@")
	$(Q)$(LINK) -Wl,--as-needed -o $@ $^ $(PKG_LIBS) -lm
-include $(REFIT_OBJ:.o=.d)
.PHONY: refit
refit: $(BUILD)/refit
	@RIDGE_HWDB=$(CURDIR) $(BUILD)/refit $(ROWS) $(or $(ARGS),--traits) >$(BUILD)/cross.def
	@cat $(BUILD)/cross.def

# Likewise for serving: build/support.def, the table of what published runs support, for src/ask/serve: fifteen minutes.
.PHONY: support
support: $(BUILD)/refit
	@RIDGE_HWDB=$(CURDIR) $(BUILD)/refit $(ROWS) serve >$(BUILD)/support.def
	@grep '^CROSS' $(BUILD)/support.def

# --- packages, demonstration, installation -----------------------------------------------------------------------------

.PHONY: deps deps-test
deps:
	@sh src/tools/packages.sh build
deps-test:
	@sh src/tools/packages.sh test

demo: deps
	@$(MAKE) --no-print-directory $(PARALLEL) $(BUILD)/ridge
	@sh src/tools/demo.sh $(BUILD)/ridge

DOC = $(DESTDIR)$(PREFIX)/share/doc/ridge
install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/include/ridge $(DOC)
	install -m 755 -s $(BUILD)/ridge $(DESTDIR)$(PREFIX)/bin/ridge
	install -m 755 -s $(BUILD)/ridge-bench $(DESTDIR)$(PREFIX)/bin/ridge-bench
	for p in $(BENCH_PLUGINS); do ! test -e $$p || { install -d $(LIBEXEC) && install -m 755 $$p $(LIBEXEC)/; }; done
	install -m 644 $(BUILD)/libridge.a $(DESTDIR)$(PREFIX)/lib/
	install -m 755 $(BUILD)/libridge.so $(DESTDIR)$(PREFIX)/lib/libridge.so.0
	ln -sf libridge.so.0 $(DESTDIR)$(PREFIX)/lib/libridge.so
	install -m 644 $(BUILD)/ridge.pc $(DESTDIR)$(PREFIX)/lib/pkgconfig/
	install -m 644 $(HEADERS) $(DESTDIR)$(PREFIX)/include/ridge/
	install -m 644 README.md LICENSE $(DOC)
	for d in $(sort $(dir $(DATA))); do install -d $(DESTDIR)$(PREFIX)/share/ridge/$$d && install -m 644 $$d*.yaml $(DESTDIR)$(PREFIX)/share/ridge/$$d; done
	for s in 1 3 5 7; do install -d $(DESTDIR)$(PREFIX)/share/man/man$$s && install -m 644 $(BUILD)/man/*.$$s $(DESTDIR)$(PREFIX)/share/man/man$$s/; done
	install -d $(DESTDIR)$(PREFIX)/share/bash-completion/completions $(DESTDIR)$(PREFIX)/share/zsh/site-functions $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	install -m 644 completions/ridge.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/ridge
	install -m 644 completions/_ridge $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_ridge
	install -m 644 completions/ridge.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/ridge.fish
	install -m 644 $(SCHEMA) $(DESTDIR)$(PREFIX)/share/ridge/

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/ridge-bench $(LIBEXEC)/ridge-bench-*.so && { ! test -d $(LIBEXEC) || rmdir $(LIBEXEC); }
	rm -f $(DESTDIR)$(PREFIX)/bin/ridge $(DESTDIR)$(PREFIX)/lib/libridge.a $(DESTDIR)$(PREFIX)/lib/libridge.so $(DESTDIR)$(PREFIX)/lib/libridge.so.0
	rm -f $(DESTDIR)$(PREFIX)/lib/pkgconfig/ridge.pc $(DESTDIR)$(PREFIX)/share/bash-completion/completions/ridge
	rm -f $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_ridge $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/ridge.fish
	rm -f $(foreach m,$(notdir $(MAN_SRC)),$(DESTDIR)$(PREFIX)/share/man/man$(lastword $(subst ., ,$(m)))/$(m))
	rm -rf $(DESTDIR)$(PREFIX)/include/ridge $(DESTDIR)$(PREFIX)/share/ridge $(DOC)

dist:
	git archive --format=tar.gz --prefix=ridge-$(VERSION)/ -o ridge-$(VERSION).tar.gz HEAD

clean:
	rm -rf $(BUILD) $(BUILD)-asan
